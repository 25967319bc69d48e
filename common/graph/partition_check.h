// The checks of a partition's contents that cost a pass over its arrays: what
// VerifyLevel::kContents adds to the checksums. Pure functions over a mapped partition; they
// allocate nothing.
#pragma once

#include <filesystem>

#include "common/base/status.h"
#include "common/graph/partition.h"
#include "common/graph/schema.h"

namespace halograph {

// DataLoss naming file, position and value: an indptr that descends, a source id outside its node
// type, halo ids that do not ascend, lie outside the type or are owned here, a seed that this part
// does not own, an alias table that could give an edge of another node or of weight 0, bounds of
// clusters that do not ascend. Only of what is open (Partition::contents).
[[nodiscard]] Status CheckPartitionContents(const Partition& partition,
                                            const std::filesystem::path& folder);

// Which column of a task set's seeds says where its row lives, and the node type of that column: a
// single node by itself, a pair by its second column, a wider tuple by its first.
struct OwnerColumn {
  int64_t column = 0;
  int node_type = 0;
};
[[nodiscard]] OwnerColumn SeedOwnerColumn(const Schema& schema, const TaskSetSpec& set);

}  // namespace halograph
