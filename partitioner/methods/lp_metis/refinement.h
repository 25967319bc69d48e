// Moves nodes between partitions, by their lists of neighbours.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/methods/lp_metis/disk_csr.h"
#include "partitioner/methods/metis/rebalance.h"
#include "partitioner/methods/metis/vertex_weights.h"

namespace halograph {

struct RefinementOptions {
  int parts = 2;
  int rounds = 6;  // at most
  uint64_t seed = 0;
};

// Moves every node to the partition that most of its edges lead to, where that cuts fewer and no
// bound is exceeded, until a round moves next to nothing. Deterministic: one node after the other.
// `loads` is kept up to date. Returns the number of moves.
int64_t Refine(const DiskCsr& graph, const VertexWeights& weights, const RefinementOptions& options,
               std::vector<int32_t>* owners, PartLoads* loads);

// Moves nodes out of partitions that exceed a bound, those that cut the fewest edges more first,
// until every bound holds or nothing helps. Otherwise as Refine.
int64_t Repair(const DiskCsr& graph, const VertexWeights& weights, const RefinementOptions& options,
               std::vector<int32_t>* owners, PartLoads* loads);

// Weight of the pairs whose ends have different owners.
[[nodiscard]] int64_t CutWeight(const DiskCsr& graph, const std::vector<int32_t>& owners);

}  // namespace halograph
