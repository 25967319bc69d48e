// Column sums: of each candidate source of a layer, what its edges into the layer's destinations
// add up to. What layer-wise draws are drawn by (layer_probability.h; SAMPLING.md, "Layer-wise
// draws"). A part gives the sums over its own destinations; those of several are added
// (add_column_sums.h). Sums are exact, so neither order nor number of parts changes them. Functions
// are thread-safe; a workspace serves one call at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/cancel.h"
#include "common/base/rng.h"
#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "common/sampling/kernel/column_workspace.h"
#include "common/sampling/layer_probability.h"
#include "common/sampling/topology_source.h"

namespace halograph {

// The sums over the in-edges of `destinations`: unique global ids, in any order. Parallel edges
// count one by one. Requires no destinations for kAsymmetry. `sums` is overwritten and its memory
// reused; after an error it holds nothing of use. Throws std::bad_alloc.
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

// What an edge from u to v adds to the asymmetry of its part, modulo 2^64; its reverse adds as much
// less than 0.
[[nodiscard]] constexpr uint64_t AsymmetryOfEdge(uint64_t u, uint64_t v) {
  return SubKey(Mix(u), v) - SubKey(Mix(v), u);
}

// Graph-wise draws need as many edges from u to v as from v to u. So whoever has a part sums
// AsymmetryOfEdge over all edges that it owns: the sums of all parts add up to 0 modulo 2^64 if the
// relation is so, and else but for a chance of 2^-64 they do not (SAMPLING.md, "Graph-wise draws").
// Reads all edges of the part, and looks at `limits` on the way. Requires a part that is here, and
// a relation of a node type with itself.
//   DataLoss  damaged offsets, or a source that its type does not have; names relation and node
//   Cancelled, DeadlineExceeded  `limits`
[[nodiscard]] StatusOr<uint64_t> SumAsymmetry(const ColumnEdges& edges, int part,
                                              const WorkLimits& limits = {});

}  // namespace halograph
