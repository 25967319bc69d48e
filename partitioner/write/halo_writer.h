// nodes/<type>/halo_ids.npy: which nodes of other partitions are sources of in-edges here. Read
// back from the topology files, one bitmap at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "partitioner/write/write_context.h"

namespace halograph {

struct HaloCounts {
  std::vector<int64_t> halo_nodes;  // per node type
  int64_t cut_edges = 0;            // in-edges whose source is owned elsewhere
};

// Requires the topology files of every relation in this part. Memory: a bit a node of one type.
[[nodiscard]] StatusOr<HaloCounts> WriteHalo(const WriteContext& context, int part);

}  // namespace halograph
