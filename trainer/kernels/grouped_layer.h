// The layer of R-GCN with a matrix for each relation, whole or block-diagonal, as one Function of
// libtorch's autograd.
#pragma once

#include <vector>

#include "trainer/blocks/relational_block.h"
#include "trainer/kernels/dense_layer.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// float32, on the CPU.
struct GroupedWeights {
  torch::Tensor matrices;  // W_m, [matrices, blocks, out / blocks, in / blocks]: each is zero but
                           // for its blocks on the diagonal
  torch::Tensor self;      // [out, in]
  torch::Tensor bias;      // [out]
};

// Whose rows a layer gives: `count` nodes, the first of which is row `first` of its inputs.
struct LayerNodes {
  int64_t first = 0;
  int64_t count = 0;
};

// Row v: self h[nodes.first + v] + bias + the sum over relations r of W_m mean(h[u]) over the
// sources u of v by r, by the coefficients and degrees of `groups.edges` (aggregate.h), with m =
// matrix_of[r]; then ReLU and dropout as `output` says. [nodes.count,
// out], differentiable in `h` and weights; matrices without an edge get a gradient of zeros, and
// none at all if no relation has an edge. NaN and infinity go where the composition takes them.
// `h`: the stacked inputs, float32, contiguous, on the CPU. `matrix_of`: one a relation of
// `groups`, none twice. `precision`: of the rows of which products are made, means and the nodes'
// own (dense_products.h); means are summed in float32. `by_source`: of `groups.edges`; null:
// backward makes its own. Requires every source of `groups` below h.size(0), and that groups and
// `by_source` live until backward is done. Each value is summed by one thread in the order of
// relations, and gradients of weights over a fixed number of chunks, so the number of threads
// changes no bit. Throws c10::Error if shapes do not fit, and says which.
[[nodiscard]] torch::Tensor GroupedLayer(const torch::Tensor& h, const RelationGroups& groups,
                                         const std::vector<int64_t>& matrix_of,
                                         const GroupedWeights& weights, const LayerNodes& nodes,
                                         const LayerOutput& output,
                                         Precision precision = Precision::kFloat32,
                                         const TransposedBlock* by_source = nullptr);

}  // namespace halograph
