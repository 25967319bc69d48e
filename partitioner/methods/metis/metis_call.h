// One call of METIS_PartGraphKway: the only place that names METIS.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/metis/folded_graph.h"
#include "partitioner/methods/metis/vertex_weights.h"

namespace halograph {

// What METIS is told to aim at, well below the bounds that are promised, since with several
// constraints it misses what it aims at by some per cent. `edges` is for constraints with a larger
// tolerance than kNodeTolerance.
struct MetisImbalance {
  float nodes = 1.02F;
  float edges = 1.06F;
};

// Owners per node for `parts` >= 2. A pure function of the arguments: the seed may be any number
// (METIS itself takes 31 bits and gives 0 and 1 the same result). METIS changes none of the
// arrays. Calls of one process wait for one another, since METIS keeps global state.
//   ResourceExhausted  METIS ran out of memory
//   Internal           METIS refused the input or failed
[[nodiscard]] StatusOr<std::vector<int32_t>> CallMetis(const FoldedGraph& graph,
                                                       const VertexWeights& weights, int parts,
                                                       uint64_t seed,
                                                       const MetisImbalance& imbalance = {});

}  // namespace halograph
