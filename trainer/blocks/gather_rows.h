// Sums of rows that are picked by a CSC: what aggregation is made of, forward and backward. The
// widest vectors of the processor are used, chosen when first called. Each value is summed by one
// thread, in the order of the CSC, so the number of threads changes no bit. Thread-safe: calls
// for different rows may run at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/base/prefetch.h"
#include "trainer/blocks/bf16_rows.h"

namespace halograph {

// Row-major float32 values of the caller's.
struct ConstRows {
  const float* data = nullptr;
  int64_t stride = 0;  // values from one row to the next
};
struct MutableRows {
  float* data = nullptr;
  int64_t stride = 0;
};

// Values from one row to the next of a matrix that many kernels read: a multiple of 64 bytes, but
// never one of 256 values, since rows that far apart meet in the same few sets of a cache.
[[nodiscard]] constexpr int64_t PaddedStride(int64_t cols,
                                             Precision precision = Precision::kFloat32) {
  const int64_t line = precision == Precision::kBf16 ? 32 : 16;
  const int64_t stride = (cols + line - 1) / line * line;
  return stride % 256 == 0 ? stride + line : stride;
}

// Rows of which each may be anywhere. While rows are summed, those that come next are asked for.
template <typename T>
struct ScatteredRows {
  const T* const* data = nullptr;  // where each begins
};

template <typename Rows>
[[nodiscard]] auto RowAt(const Rows& rows, int64_t row) {
  return rows.data + row * rows.stride;
}
template <typename T>
[[nodiscard]] const T* RowAt(const ScatteredRows<T>& rows, int64_t row) {
  return rows.data[row];
}

// Asks for a row of `cols` values that is read soon, if it may be anywhere. Of a long row only the
// head: the hardware follows the stream from there.
template <typename Rows>
inline void AskForRow(const Rows& /*rows*/, int64_t /*row*/, int64_t /*cols*/) {}
template <typename T>
inline void AskForRow(const ScatteredRows<T>& rows, int64_t row, int64_t cols) {
  const auto* const begin = reinterpret_cast<const char*>(rows.data[row]);
  const int64_t bytes = std::min<int64_t>(cols * static_cast<int64_t>(sizeof(T)), 4096);
  for (int64_t at = 0; at < bytes; at += 64) PrefetchToRead(begin + at);
  PrefetchToRead(begin + bytes - 1);  // a row that is not aligned touches one line more
}

[[nodiscard]] inline const float* DataOrNull(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

// Row i of the result is about edges indptr[i] to indptr[i + 1]; edge e picks row indices[e], and
// counts it coefficients[e] times. Without coefficients it counts once, and sums cost nothing more.
template <typename Rows>
struct Picked {
  const int64_t* indptr = nullptr;
  const int32_t* indices = nullptr;
  Rows rows;
  int64_t cols = 0;
  const float* coefficients = nullptr;  // one an edge
  const float* degrees = nullptr;       // one a row of the result: what means divide by

  // The same of rows `first` on.
  [[nodiscard]] Picked From(int64_t first) const {
    Picked rest = *this;
    rest.indptr += first;
    if (degrees != nullptr) rest.degrees += first;
    return rest;
  }
};
using PickedRows = Picked<ConstRows>;
using PickedBf16Rows = Picked<ConstBf16Rows>;

// Rows [begin, end) of `out`: the mean of the picked rows: their sum, divided, last, by the row's
// degree, or, where there are no degrees, by the number of edges; zeros where that is 0. Wherever
// rows are, and whether as bfloat16 or as float32, they give the same bits.
void MeanOfRows(const PickedRows& picked, int64_t begin, int64_t end, const MutableRows& out);
void MeanOfRows(const PickedBf16Rows& picked, int64_t begin, int64_t end, const MutableRows& out);
void MeanOfRows(const Picked<ScatteredRows<float>>& picked, int64_t begin, int64_t end,
                const MutableRows& out);
void MeanOfRows(const Picked<ScatteredRows<uint16_t>>& picked, int64_t begin, int64_t end,
                const MutableRows& out);

// Rows [begin, end) of `out`: the sum of the picked rows, each times scales[its index], or as it is
// if `scales` is null, and times its coefficient. Row i of `first` is added in front, for i below
// `first_rows`. Rows of bfloat16 give the same bits as float32.
void ScaledSumOfRows(const PickedRows& picked, const float* scales, const ConstRows& first,
                     int64_t first_rows, int64_t begin, int64_t end, const MutableRows& out);
void ScaledSumOfRows(const PickedBf16Rows& picked, const float* scales, const ConstRows& first,
                     int64_t first_rows, int64_t begin, int64_t end, const MutableRows& out);

}  // namespace halograph
