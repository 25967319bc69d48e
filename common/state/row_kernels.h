// What a push does to rows in memory, with the widest vectors that the processor has, chosen when
// first called. Every operation is rounded by itself, and sums have a fixed order: the bits do not
// depend on the instruction set. (mutable_tensor.h has the formulas.)
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "common/state/push_order.h"
#include "common/state/row_layout.h"

namespace halograph {

struct RowUpdate {
  std::byte* rows = nullptr;  // the first row
  RowLayout layout;
  RowStep step = RowStep::kAdd;
  RowOptimizer optimizer;
  std::span<const PushedRows> lists;
  const PushOrder* order = nullptr;  // of the lists
};

// Updates the rows whose first entry is among [begin, end) of the order. Disjoint ranges may be
// updated at the same time. How many of these rows it left with a value that is NaN or infinite, or
// with such a number in the optimizer state that it changed. (While there are none that costs an
// operation or two a vector; else the rows are read once more.)
size_t UpdateRows(const RowUpdate& update, size_t begin, size_t end);

// Writes `dim` values of a row, rounded to the layout's dtype.
void WriteRow(const RowLayout& layout, const float* values, std::byte* row);

// Position of the first element that is NaN or infinite. `dtype`: float32, float16 or bfloat16;
// `values` may have any alignment.
[[nodiscard]] std::optional<size_t> FindNotFinite(DType dtype, std::span<const std::byte> values);

// Whether no value and no number of the optimizer state of an image (row_layout.h) is NaN or
// infinite. Any alignment.
[[nodiscard]] bool IsFiniteImage(const RowLayout& layout, const std::byte* image);

}  // namespace halograph
