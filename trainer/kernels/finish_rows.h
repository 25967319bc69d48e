// The end of a layer whose product was composed of libtorch's operations, as one Function of
// libtorch's autograd: bias, ReLU and dropout in one pass.
#pragma once

#include "trainer/kernels/dense_layer.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// z + bias, then ReLU and dropout as `output` says; what is left out is what DenseForward leaves
// out. `z`: [rows, out], float32, contiguous, on the CPU; `bias`: [out]. Differentiable in both.
// The number of threads changes no bit. Throws c10::Error as libtorch does.
[[nodiscard]] torch::Tensor FinishRows(const torch::Tensor& z, const torch::Tensor& bias,
                                       const LayerOutput& output);

}  // namespace halograph
