// One dense layer as a Function of libtorch's autograd: product, bias, ReLU and the dropout of its
// own output, by the kernels of dense_layer.h. What layers are built of that have no Function of
// their own.
#pragma once

#include "trainer/kernels/dense_layer.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// x W^T + bias, finished as `output` says. [rows, out], of its precision, contiguous,
// differentiable in x, weight and bias. `x`: [rows, in], float32, or bfloat16 without a gradient;
// rows may be further apart than they are long. Best made with RowsWithRoom, or of a multiple of 16
// columns: others are copied. `weight`: W, [out, in], float32. `bias`: [out], float32, or no
// tensor: none. `precision`: of the rows of which the product is made (dense_products.h). The
// number of threads changes no bit. On a device it is composed of libtorch's operations there, and
// all tensors are there. Throws c10::Error as libtorch does.
[[nodiscard]] torch::Tensor LinearLayer(const torch::Tensor& x, const torch::Tensor& weight,
                                        const torch::Tensor& bias, const LayerOutput& output = {},
                                        Precision precision = Precision::kFloat32);

// `x` less what `dropout` leaves out, by (row, column), the rest scaled. Differentiable. Returns
// `x` itself if all is kept. `x`: a float32 matrix.
[[nodiscard]] torch::Tensor Drop(const torch::Tensor& x, const Dropout& dropout);

}  // namespace halograph
