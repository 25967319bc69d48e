// Rows [h_v, mean(h_u)] of a block: what a layer of GraphSAGE multiplies. One home for the layer
// and for the threads that prepare minibatches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/sampling/minibatch.h"
#include "trainer/blocks/bf16_rows.h"
#include "trainer/blocks/gather_rows.h"

namespace halograph {

inline void CopyValues(const float* from, int64_t count, float* to) {
  std::copy_n(from, count, to);
}
inline void CopyValues(const uint16_t* from, int64_t count, uint16_t* to) {
  std::copy_n(from, count, to);
}
inline void CopyValues(const float* from, int64_t count, uint16_t* to) {
  NarrowToBf16(from, count, to);
}
inline void CopyValues(const uint16_t* from, int64_t count, float* to) {
  WidenBf16(from, count, to);
}

// Rows [begin, end) of `out`, rounded once. make(first, rows, to) fills `to` with `rows` of them
// from `first` on: some at a time, which stay in the first cache.
template <typename Make>
void NarrowAsMade(int64_t cols, int64_t begin, int64_t end, const MutableBf16Rows& out,
                  const Make& make) {
  const int64_t at_once = std::clamp<int64_t>(4096 / std::max<int64_t>(1, cols), 1, 64);
  std::vector<float> made(static_cast<size_t>(at_once * cols));
  for (int64_t first = begin; first < end; first += at_once) {
    const int64_t rows = std::min(at_once, end - first);
    make(first, rows, MutableRows{made.data(), cols});
    for (int64_t r = 0; r < rows; ++r) {
      NarrowToBf16(made.data() + r * cols, cols, out.data + (first + r) * out.stride);
    }
  }
}

template <typename Rows>
void MeanOfRows(const Picked<Rows>& picked, int64_t begin, int64_t end,
                const MutableBf16Rows& out) {
  NarrowAsMade(picked.cols, begin, end, out,
               [&](int64_t first, int64_t rows, const MutableRows& to) {
                 MeanOfRows(picked.From(first), 0, rows, to);
               });
}

inline void ScaledSumOfRows(const PickedRows& picked, const float* scales, const ConstRows& first,
                            int64_t first_rows, int64_t begin, int64_t end,
                            const MutableBf16Rows& out) {
  NarrowAsMade(picked.cols, begin, end, out, [&](int64_t row, int64_t rows, const MutableRows& to) {
    ScaledSumOfRows(
        picked.From(row), scales,
        row < first_rows ? ConstRows{first.data + row * first.stride, first.stride} : ConstRows{},
        first_rows - row, 0, rows, to);
  });
}

// Rows of sources, picked by the destinations of a block, which is borrowed.
template <typename Rows>
[[nodiscard]] Picked<Rows> PickBy(const Block& block, const Rows& rows, int64_t cols) {
  return {
      block.indptr.data(),      block.indices.data(), rows, cols, DataOrNull(block.coefficients),
      DataOrNull(block.degrees)};
}

// Rows [begin, end) of `out`: row v of `self`, `self_cols` values, then the mean of the picked
// rows. Rows are of float32 or of bfloat16, each of the three; the mean is summed in float32 and
// rounded once. Thread-safe: calls for different rows may run at once.
template <typename SelfRows, typename Rows, typename OutRows>
void FillSelfAndMean(const SelfRows& self, int64_t self_cols, const Picked<Rows>& picked,
                     int64_t begin, int64_t end, const OutRows& out) {
  constexpr int64_t kRowsAhead = 8;
  for (int64_t v = begin; v < std::min(end, begin + kRowsAhead); ++v) AskForRow(self, v, self_cols);
  for (int64_t v = begin; v < end; ++v) {
    if (v + kRowsAhead < end) AskForRow(self, v + kRowsAhead, self_cols);
    CopyValues(RowAt(self, v), self_cols, out.data + v * out.stride);
  }
  MeanOfRows(picked, begin, end, OutRows{out.data + self_cols, out.stride});
}

}  // namespace halograph
