// Attention over sampled in-neighbours with several heads, as one Function of libtorch's autograd
// (GAT; attention_rows.h and attention_scores.h have the passes). The projection, and the scores of
// nodes out of it, are the layer's own: products that libtorch makes.
#pragma once

#include "common/sampling/minibatch.h"
#include "trainer/blocks/block_transpose.h"
#include "trainer/kernels/block_on_device.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/dropout.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// float32, contiguous, on the CPU.
struct AttentionInput {
  torch::Tensor projected;           // [sources, heads * width]: head after head
  torch::Tensor source_scores;       // [sources, heads]
  torch::Tensor destination_scores;  // [destinations, heads]
  double negative_slope = 0.2;       // of LeakyReLU
  Dropout dropout = {};              // of weights, at (edge of the block, head)
};

// Row v: per head the sum over edges (u, v) of weight * projected[u], where the weights of a
// destination are the softmax over its edges of LeakyReLU(source_scores[u] +
// destination_scores[v]), less those that dropout leaves out. Where the block has coefficients,
// exp(score) counts an edge's coefficient times in that softmax (SoftmaxOfEdges); a destination
// whose edges all have 0 gets zeros. Parallel edges count each. Zeros, and
// no gradient, for a destination without edges. [destinations, heads * width], differentiable in
// all three inputs. NaN and infinity go where the composition takes them. `by_source`: of `block`;
// null: backward makes its own. Requires every index of `block` below the number of sources, and
// that both live until backward is done. The number of threads changes no bit. Throws c10::Error if
// a tensor is of another kind or shape, and says which.
[[nodiscard]] torch::Tensor Attend(const AttentionInput& input, const Block& block,
                                   const TransposedBlock* by_source = nullptr);
// The same of a block's tensors, which are kept until backward is done (OwnTensorsOf makes some).
[[nodiscard]] torch::Tensor Attend(const AttentionInput& input, const BlockTensors& block);

// The same of a block on the device of the inputs, which has a form by source, composed there.
[[nodiscard]] torch::Tensor Attend(const AttentionInput& input, const BlockOnDevice& block);

// The same, composed of libtorch's operations, on any device and in any floating type: the oracle
// of the tests, and what a new kind of attention starts with.
[[nodiscard]] torch::Tensor ComposedAttend(const AttentionInput& input, const Block& block);

}  // namespace halograph
