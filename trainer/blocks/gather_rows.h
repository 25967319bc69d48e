// Sums of rows that are picked by a CSC: what aggregation is made of, forward and backward. The
// widest vectors of the processor are used, chosen when first called. Each value is summed by one
// thread, in the order of the CSC, so the number of threads changes no bit. Thread-safe: calls
// for different rows may run at once.
#pragma once

#include <cstdint>

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

// Values from one row to the next of a matrix that many kernels read: a multiple of 64 bytes, and
// none of 1 KB, since rows that far apart meet in the same few sets of a cache.
[[nodiscard]] constexpr int64_t PaddedStride(int64_t cols) {
  const int64_t stride = (cols + 15) / 16 * 16;
  return stride % 256 == 0 ? stride + 16 : stride;
}

// Row i of the result is about edges indptr[i] to indptr[i + 1]; edge e picks row indices[e].
struct PickedRows {
  const int64_t* indptr = nullptr;
  const int32_t* indices = nullptr;
  ConstRows rows;
  int64_t cols = 0;
};

// Rows [begin, end) of `out`: the mean of the picked rows; zeros where no row is picked.
void MeanOfRows(const PickedRows& picked, int64_t begin, int64_t end, const MutableRows& out);

// Rows [begin, end) of `out`: the sum of the picked rows, each times scales[its index], or as it is
// if `scales` is null. Row i of `first` is added in front, for i below `first_rows`.
void ScaledSumOfRows(const PickedRows& picked, const float* scales, const ConstRows& first,
                     int64_t first_rows, int64_t begin, int64_t end, const MutableRows& out);

}  // namespace halograph
