// The dense part of a layer, for the Functions of libtorch's autograd: product with the weights,
// bias, ReLU and the dropout of the output; and the way back. Rows are made, multiplied and
// finished a few at a time while they are in a cache. The number of threads changes no bit. float32
// on the CPU, but for rows that may be of bfloat16: those of the layer (dense_products.h), and
// those that it gives; throws c10::Error as libtorch does.
#pragma once

#include <functional>

#include "trainer/kernels/dense_products.h"
#include "trainer/kernels/dropout.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// What a layer does with its product.
struct LayerOutput {
  bool relu = false;     // the last layer has none
  Dropout dropout = {};  // after ReLU: without ReLU nothing is left out
  // Of the rows that DenseForward gives, rounded once, and so of the gradient that they get; others
  // give float32.
  Precision precision = Precision::kFloat32;
};

// Fills rows [begin, end) of a matrix. Called for each row once, by several threads at a time.
using MakeRows = std::function<void(int64_t begin, int64_t end)>;

struct DenseResult {
  torch::Tensor out;   // [rows, out], contiguous
  torch::Tensor mask;  // int64, [rows, MaskWords(out)]: bits of values that get a gradient. No
                       // tensor without ReLU: then all do; nor if it was not `wanted`
};

// x W^T + bias, finished as `output` says. `x`: [rows, in], of float32, or of bfloat16 with room;
// `make_rows`, if there, fills it.
// `weights`: W, [out, in], as matrices side by side.
[[nodiscard]] DenseResult DenseForward(const torch::Tensor& x, const MakeRows& make_rows,
                                       torch::TensorList weights, const torch::Tensor& bias,
                                       const LayerOutput& output, bool mask_wanted);

struct DenseGradients {
  torch::Tensor x;                     // with room; no tensor if it is not wanted
  std::vector<torch::Tensor> weights;  // of each matrix
  torch::Tensor bias;
};

// Out of the gradient of `out`, of its type. `x`: as it was in DenseForward, with room. `scale`:
// the dropout's.
[[nodiscard]] DenseGradients DenseBackward(const torch::Tensor& grad, const torch::Tensor& mask,
                                           float scale, const torch::Tensor& x,
                                           torch::TensorList weights, bool x_wanted);

}  // namespace halograph
