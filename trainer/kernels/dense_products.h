// The products of a dense layer, forward and backward, over a few of its rows at a time. How they
// are made follows from what the layer's rows are, and is chosen once a layer:
//   float32    as they are (product.h)
//   bfloat16   with weights and gradients rounded to bfloat16 and sums of float32, where the
//              process has a kernel for that (product_kernel.h); else of rows that are widened, a
//              few at a time
#pragma once

#include <functional>

#include "trainer/blocks/bf16_rows.h"
#include "trainer/kernels/product.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// An uninitialised matrix of float32 or bfloat16 whose rows can be a layer's rows, and, of float32,
// a product's right factor (product.h).
[[nodiscard]] torch::Tensor RowsWithRoom(int64_t rows, int64_t cols,
                                         Precision precision = Precision::kFloat32);
// `matrix` if its rows can be that, or else a copy.
[[nodiscard]] torch::Tensor WithRoom(const torch::Tensor& matrix);

// Columns of rows of bfloat16 that are whole pairs (bf16_product.h).
[[nodiscard]] constexpr int64_t EvenCols(int64_t cols) { return (cols + 1) / 2 * 2; }
// Rows [begin, end) of `from`, rounded, into the same rows of `to`.
void NarrowRows(const ConstRows& from, int64_t cols, int64_t begin, int64_t end,
                const MutableBf16Rows& to);

[[nodiscard]] inline bool IsBf16(const torch::Tensor& rows) {
  return rows.scalar_type() == torch::kBFloat16;
}
// Of a matrix of bfloat16 whose rows may be further apart than they are long.
[[nodiscard]] ConstBf16Rows ConstBf16RowsOf(const torch::Tensor& matrix);
[[nodiscard]] MutableBf16Rows MutableBf16RowsOf(const torch::Tensor& matrix);

// z = x W^T, rows [begin, end) of x; `z` begins with the first of them. Thread-safe.
using ForwardProduct = std::function<void(int64_t begin, int64_t end, const MutableRows& z)>;
// `x`: [rows, in], with room, whose values need not be there yet. `weights`: W, [out, in], as
// matrices side by side; they are copied.
[[nodiscard]] ForwardProduct MakeForwardProduct(const torch::Tensor& x, torch::TensorList weights);

// Rows [row, row + dz.rows) of a layer, columns [first, last) of x.
struct BackwardRows {
  LeftFactor dz;  // the gradient of the product, [rows, out]
  // Its values as bfloat16, whole pairs in each row (RowsWithRoom), or none: for products of pairs,
  // which look at those of `dz` only if there are none.
  ConstBf16Rows narrow_dz;
  int64_t row = 0;
  int64_t first = 0;
  int64_t last = 0;
  MutableRows w_part;  // of column `first` on: dz^T x is added
  MutableRows x_grad;  // of `row` and column `first` on: becomes dz W. Or none
};
using BackwardProducts = std::function<void(const BackwardRows&)>;  // thread-safe
// `x`, `weights`: as MakeForwardProduct's, with values. `x_wanted`: whether any x_grad is there.
[[nodiscard]] BackwardProducts MakeBackwardProducts(const torch::Tensor& x,
                                                    torch::TensorList weights, bool x_wanted);

}  // namespace halograph
