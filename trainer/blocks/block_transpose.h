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
  std::vector<float> reciprocals;     // one a destination
};

// `indptr` and `indices` as a block has them, from edge 0 on. Requires every index below
// `num_sources`.
[[nodiscard]] TransposedBlock Transpose(const int64_t* indptr, int64_t num_destinations,
                                        const int32_t* indices, int64_t num_sources);

// The edge that each entry of `destinations` stands for: its place in `indices`, ascending within a
// source. `block` is Transpose's of these indices. Requires fewer than 2^31 edges.
[[nodiscard]] std::vector<int32_t> EdgesBySource(const TransposedBlock& block,
                                                 const int32_t* indices);

}  // namespace halograph
