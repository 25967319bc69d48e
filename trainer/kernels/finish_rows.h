// The end of a layer: bias, ReLU and dropout in one pass over its product. As one Function of
// libtorch's autograd for a product that was composed of libtorch's operations, and its halves for
// Functions of whole layers.
#pragma once

#include "trainer/kernels/dense_layer.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// z + bias, then ReLU and dropout as `output` says; what is left out is what DenseForward leaves
// out. `z`: [rows, out], float32, contiguous; `bias`: [out], on the same device. Differentiable in
// both. The number of threads changes no bit. Throws c10::Error as libtorch does.
[[nodiscard]] torch::Tensor FinishRows(const torch::Tensor& z, const torch::Tensor& bias,
                                       const LayerOutput& output);

// Rows [begin, end) of a layer, in place: `z` begins with the first of them. `bias`: [columns],
// contiguous. `mask`: int64, [rows, MaskWords(columns)], filled with bits of values that get a
// gradient; or no tensor. Without ReLU it is left as it is: all do.
void FinishInPlace(const MutableRows& z, const torch::Tensor& bias, const LayerOutput& output,
                   int64_t begin, int64_t end, const torch::Tensor& mask);

struct FinishGradients {
  torch::Tensor product;  // contiguous; zeros where the mask has no bit
  torch::Tensor bias;     // summed over a fixed number of chunks
};

// Out of the gradient of the finished rows. `mask`: FinishInPlace's, or no tensor without ReLU.
// `scale`: the dropout's.
[[nodiscard]] FinishGradients FinishBackward(const torch::Tensor& grad, const torch::Tensor& mask,
                                             float scale);

}  // namespace halograph
