// A block by source: what the backward pass of an aggregation runs over.
#pragma once

#include <cstdint>
#include <vector>

namespace halograph {

// Per source the destinations that list it, ascending, as often as they do. Destinations count by
// the reciprocal of their degree in a mean; 0 for those without edges.
struct TransposedBlock {
  std::vector<int64_t> indptr;        // sources + 1
  std::vector<int32_t> destinations;  // one an edge
  std::vector<int32_t> edges;         // which of the block's each is, ascending within a source
  std::vector<float> reciprocals;     // one a destination
};

// `indptr` and `indices` as a block has them, from edge 0 on. Requires every index below
// `num_sources`, and fewer than 2^31 edges.
[[nodiscard]] TransposedBlock Transpose(const int64_t* indptr, int64_t num_destinations,
                                        const int32_t* indices, int64_t num_sources);

}  // namespace halograph
