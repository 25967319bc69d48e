// Column sums: of each candidate source of a layer, what its edges into the layer's destinations
// add up to. What layer-wise draws are drawn by (layer_probability.h; SAMPLING.md, "Layer-wise
// draws"). A part gives the sums over its own destinations; those of several are added
// (add_column_sums.h). Sums are exact, so neither order nor number of parts changes them. Functions
// are thread-safe; a workspace serves one call at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "common/sampling/kernel/column_workspace.h"
#include "common/sampling/layer_probability.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// The sums over the in-edges of `destinations`: unique global ids, in any order. Parallel edges
// count one by one. `sums` is overwritten and its memory reused; after an error it holds nothing of
// use. Throws std::bad_alloc.
//   InvalidArgument  a destination that is in no part that is here
//   DataLoss         offsets or sources that cannot be; names the relation and the node
[[nodiscard]] Status SumColumns(const ColumnEdges& edges, std::span<const int64_t> destinations,
                                ColumnValue value, ColumnWorkspace* workspace, ColumnSums* sums);

// For FastGCN, which draws by these whatever the destinations: degrees[i] is how many edges of all
// parts that are here have source sources.begin + i. Reads all edges. Requires a range within the
// source type. `degrees` is overwritten: 4 bytes a node of the range. Throws std::bad_alloc.
//   DataLoss    a source that its type does not have
//   OutOfRange  a node with more than 2^32 - 1 edges
[[nodiscard]] Status CountOutDegrees(const ColumnEdges& edges, IdRange sources,
                                     std::vector<uint32_t>* degrees);

}  // namespace halograph
