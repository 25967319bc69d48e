// Dense products of float32 matrices, row after row in memory, and the same where the left factor
// is mostly zeros, as a gradient behind ReLU and dropout is, and bits say where it is not. The
// widest vectors of the processor are used. Each value is one sum over its terms in order, by one
// thread: neither the number of threads, nor how rows are cut into calls, nor a mask changes a bit.
// NaN and infinity go where they go in a plain product: 0 times infinity is NaN, masked or not.
// Thread-safe: calls whose results lie apart may run at once.
#pragma once

#include <cstdint>

#include "trainer/blocks/gather_rows.h"

namespace halograph {

// Columns come in groups of as many values: the widest vector.
inline constexpr int64_t kColumnGroup = 16;

// Values that a row of `cols` columns takes with its last group filled up. Who multiplies by a row
// may read as many.
[[nodiscard]] constexpr int64_t RoomForColumns(int64_t cols) {
  return (cols + kColumnGroup - 1) / kColumnGroup * kColumnGroup;
}

struct LeftFactor {
  ConstRows values;
  int64_t rows = 0;
  int64_t cols = 0;
  // MaskWords(cols) words a row (trainer/kernels/layer_epilogue.h): a value without a bit is 0. Or
  // null. If less than 0.45 of the bits are set, terms without a bit are left out, but those with
  // a factor that is not finite.
  const uint64_t* mask = nullptr;
};

// In all of these `right` has rows that may be read to RoomForColumns(cols), whatever is there, and
// are best PaddedStride(cols) apart.
// Where rows of `out` are at least that far apart, what is behind their columns is overwritten.

// out = left * right. `right`: [left.cols, cols]; `out`: [left.rows, cols].
void Multiply(const LeftFactor& left, const ConstRows& right, int64_t cols, const MutableRows& out);

// out += the transpose of left * right. `right`: [left.rows, cols]; `out`: [left.cols, cols].
// Calls for the rows of a matrix, a few at a time in order, give the sum over all rows.
void AddTransposedProduct(const LeftFactor& left, const ConstRows& right, int64_t cols,
                          const MutableRows& out);

// The transpose of `matrix`, [rows, cols], into rows of `out`.
void TransposeMatrix(const ConstRows& matrix, int64_t rows, int64_t cols, const MutableRows& out);

}  // namespace halograph
