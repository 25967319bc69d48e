// Attention over sampled in-neighbours whose scores rank sources anew for each destination (GATv2),
// as one Function of libtorch's autograd. The two projections are the layer's own.
#pragma once

#include "common/sampling/minibatch.h"
#include "trainer/blocks/block_transpose.h"
#include "trainer/kernels/block_on_device.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/dropout.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// float32, contiguous, on the CPU. Rows of heads * width columns, head after head.
struct DynamicAttentionInput {
  torch::Tensor sources;        // projected by one matrix, [sources, heads * width]
  torch::Tensor destinations;   // by another, [destinations, heads * width]
  torch::Tensor vector;         // [heads, width]
  double negative_slope = 0.2;  // of LeakyReLU
  Dropout dropout = {};         // of weights, at (edge of the block, head)
};

// Row v: per head the sum over edges (u, v) of weight * sources[u], where the weights of a
// destination are the softmax over its edges of <vector, LeakyReLU(sources[u] + destinations[v])>,
// less those that dropout leaves out. Coefficients of the block count as in attention.h. Parallel
// edges count each. Zeros, and no gradient, for a
// destination without edges. [destinations, heads * width], differentiable in all three tensors.
// NaN and infinity go where the composition takes them.
// `by_source`: of `block`; null: backward makes its own. Requires every index of `block` below the
// number of sources, and that both live until backward is done. The vector's gradient is summed
// over a fixed number of chunks, so the number of threads changes no bit. Throws c10::Error if a
// tensor is of another kind or shape, and says which.
[[nodiscard]] torch::Tensor DynamicAttend(const DynamicAttentionInput& input, const Block& block,
                                          const TransposedBlock* by_source = nullptr);
// The same of a block's tensors, which are kept until backward is done (OwnTensorsOf makes some).
[[nodiscard]] torch::Tensor DynamicAttend(const DynamicAttentionInput& input,
                                          const BlockTensors& block);

// The same of a block on the device of the inputs, which has a form by source, composed there.
[[nodiscard]] torch::Tensor DynamicAttend(const DynamicAttentionInput& input,
                                          const BlockOnDevice& block);

// The same, composed of libtorch's operations, on any device and in any floating type: the oracle
// of the tests.
[[nodiscard]] torch::Tensor ComposedDynamicAttend(const DynamicAttentionInput& input,
                                                  const Block& block);

}  // namespace halograph
