// The first layer of R-GCN (Schlichtkrull et al. 2018, equation 3) where inputs are one-hot, as one
// Function of libtorch's autograd. A matrix V_b times the one-hot input of node u is a column of
// V_b: a row of u's own. So a node's row holds what all matrices make of it, and no product is
// left:
//   z_v = s_v + the sum over relations r, over b, of a_rb * the mean of V_b[u] over the sources u
//   of
//         v by r, as often as they are listed, by the block's coefficients and degrees
//         (relational_aggregate.h); relations without edges into v count nothing
// where row u of `rows` is [V_0[u], ..., V_{B-1}[u], s_u].
#pragma once

#include <vector>

#include "trainer/blocks/relational_block.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// What each relation of the block takes of its sources' rows.
struct BasisWeights {
  int64_t bases = 0;
  torch::Tensor coefficients = {};     // a, [relations, bases], float32, contiguous; or no tensor:
  std::vector<int64_t> basis_of = {};  // one a relation: the only basis that it takes, by 1
};

// z of nodes, the first of which is row `first_self` of `rows`; [destinations, cols], float32,
// differentiable in `rows` and `coefficients`. `rows`: the stacked rows, [nodes, (bases + 1) *
// cols], float32, contiguous, on the CPU. `by_source`: GroupsBySource of `block`; null: backward
// makes its own. Requires every source of `block` below rows.size(0), each of `basis_of` below
// `bases`, and that block and `by_source` live until backward is done. Each value is summed by one
// thread in the order of groups, and the gradient of coefficients over a fixed number of chunks, so
// the number of threads changes no bit. Throws c10::Error if shapes do not fit, and says which.
[[nodiscard]] torch::Tensor BasisLayer(const torch::Tensor& rows, const RelationalBlock& block,
                                       const BasisWeights& weights, int64_t first_self,
                                       const TransposedBlock* by_source = nullptr);

}  // namespace halograph
