// A block by source: what the backward pass of an aggregation runs over.
#pragma once

#include <cstdint>
#include <vector>

#include "common/sampling/minibatch.h"

namespace halograph {

// Per source the destinations that list it, ascending, as often as they do. Destinations count by
// the reciprocal of what a mean divides by: the block's degrees, or the number of its edges; 0
// where that is 0.
struct TransposedBlock {
  std::vector<int64_t> indptr;           // sources + 1
  std::vector<int32_t> destinations;     // one an edge
  std::vector<int32_t> edges;            // which of the block's each is, ascending within a source
  std::vector<float> reciprocals;        // one a destination
  std::vector<float> coefficients = {};  // of each edge, as it stands here; empty: 1 throughout
};

// What a block says of its edges and destinations beside them, as Block has it; null: nothing.
struct EdgeFactors {
  const float* coefficients = nullptr;
  const float* degrees = nullptr;
};

// `indptr` and `indices` as a block has them, from edge 0 on. Requires every index below
// `num_sources`, and fewer than 2^31 edges.
[[nodiscard]] TransposedBlock Transpose(const int64_t* indptr, int64_t num_destinations,
                                        const int32_t* indices, int64_t num_sources,
                                        const EdgeFactors& factors = {});
[[nodiscard]] TransposedBlock Transpose(const Block& block, int64_t num_sources);

}  // namespace halograph
