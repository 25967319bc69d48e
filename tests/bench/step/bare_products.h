// The products of a layer and nothing else, by the kernels of trainer/kernels/product.h, over
// matrices that are there: [rows, in] x, [rows, out] z, [out, in] w. Shared by threads as
// libtorch's own are. Matrices have room (trainer/kernels/dense_layer.h).
#pragma once

#include <algorithm>

#include "trainer/kernels/block_tensors.h"
#include "trainer/kernels/dense_layer.h"
#include "trainer/kernels/layer_epilogue.h"
#include "trainer/kernels/product.h"

namespace halograph {

// `rows` rows of a left factor from `row` on.
inline LeftFactor RowsOfLeft(const torch::Tensor& values, const torch::Tensor& mask, int64_t row,
                             int64_t rows) {
  const ConstRows all = ConstRowsOf(values);
  LeftFactor left = {{all.data + row * all.stride, all.stride}, rows, values.size(1), nullptr};
  if (mask.defined()) {
    left.mask = reinterpret_cast<const uint64_t*>(mask.data_ptr<int64_t>()) +
                row * MaskWords(values.size(1));
  }
  return left;
}

// out = left * right, with the mask of `left`, or none.
inline void BareProduct(const torch::Tensor& left, const torch::Tensor& mask,
                        const torch::Tensor& right, const torch::Tensor& out) {
  constexpr int64_t kBlock = 96;
  const int64_t rows = left.size(0);
  const MutableRows to = MutableRowsOf(out);
  at::parallel_for(0, (rows + kBlock - 1) / kBlock, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * kBlock; row < std::min(rows, end * kBlock); row += kBlock) {
      Multiply(RowsOfLeft(left, mask, row, std::min(kBlock, rows - row)), ConstRowsOf(right),
               right.size(1), {to.data + row * to.stride, to.stride});
    }
  });
}

// The transpose of left * right, summed over as many chunks of rows as `parts` has, which stay
// apart: [chunks, left's columns, right's columns].
inline void BareTransposedProduct(const torch::Tensor& left, const torch::Tensor& mask,
                                  const torch::Tensor& right, const torch::Tensor& parts) {
  constexpr int64_t kBlock = 192;
  const int64_t rows = left.size(0), chunks = parts.size(0);
  const ConstRows from = ConstRowsOf(right);
  parts.zero_();
  at::parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t last = (chunk + 1) * rows / chunks;
      for (int64_t row = chunk * rows / chunks; row < last; row += kBlock) {
        AddTransposedProduct(RowsOfLeft(left, mask, row, std::min(kBlock, last - row)),
                             {from.data + row * from.stride, from.stride}, right.size(1),
                             MutableRowsOf(parts[chunk]));
      }
    }
  });
}

}  // namespace halograph
