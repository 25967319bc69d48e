// What the Functions of all kinds of attention have in common, and what their compositions have.
#pragma once

#include <functional>

#include "trainer/kernels/block_on_device.h"
#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/composed_block.h"
#include "trainer/kernels/dropout.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// Of a block's edges, [edges, heads].
struct EdgeWeights {
  torch::Tensor all;   // the softmax of their scores
  torch::Tensor kept;  // what dropout left of it; the same tensor if it left all
};

// Writes the scores of the edges of destinations [begin, end). Called for each destination once, by
// several threads at a time.
using ScoreRows = std::function<void(int64_t begin, int64_t end, float* scores)>;

// The sums of rows of `projected` by the weights of scores; fills `weights`.
[[nodiscard]] torch::Tensor AttendForward(const torch::Tensor& projected, const BlockTensors& block,
                                          int64_t heads, const ScoreRows& score,
                                          const Dropout& dropout, EdgeWeights* weights);

struct AttentionGradients {
  torch::Tensor projected;
  torch::Tensor scores;
};

// Out of the gradient of the sums.
[[nodiscard]] AttentionGradients AttendBackward(const torch::Tensor& grad,
                                                const torch::Tensor& projected,
                                                const BlockTensors& block,
                                                const TransposedBlock& by_source,
                                                const EdgeWeights& weights, const Dropout& dropout);

// For a Function's backward.
void KeepDropout(torch::autograd::AutogradContext* context, const Dropout& dropout);
[[nodiscard]] Dropout KeptDropout(torch::autograd::AutogradContext* context);

// The sums, composed of libtorch's operations. `scores`: [edges, heads].
[[nodiscard]] torch::Tensor ComposedAttendByScores(const torch::Tensor& projected,
                                                   const ComposedBlock& edges,
                                                   const torch::Tensor& scores,
                                                   const Dropout& dropout);

// The same of a block on a device.
[[nodiscard]] torch::Tensor AttendByScoresOnDevice(const torch::Tensor& projected,
                                                   const BlockOnDevice& block,
                                                   const torch::Tensor& scores,
                                                   const Dropout& dropout);

}  // namespace halograph
