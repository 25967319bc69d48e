// What follows a layer's product, in one pass over its rows: bias, ReLU, dropout; and the way
// back. The widest vectors of the processor are used. Thread-safe: calls for different rows may
// run at once.
#pragma once

#include <cstdint>

#include "trainer/blocks/bf16_rows.h"
#include "trainer/blocks/gather_rows.h"
#include "trainer/kernels/dropout.h"

namespace halograph {

// A bit for every value of a row that gets a gradient: not cut by ReLU, and kept by dropout.
[[nodiscard]] constexpr int64_t MaskWords(int64_t cols) { return (cols + 63) / 64; }

// Rows [begin, end) of a layer, of which `z` begins with the first, in place: bias added, then
// ReLU, then `dropout` of (row, column). `mask`: MaskWords(cols) words a row, filled; or null. NaN
// stays NaN where dropout keeps it, and its bit is set, as libtorch's ReLU has it.
void ReluEpilogue(const MutableRows& z, int64_t cols, const float* bias, const Dropout& dropout,
                  int64_t begin, int64_t end, uint64_t* mask);

// The gradient of `z` before ReluEpilogue, rows [begin, end) of `out`: grad * scale where the mask
// has a bit, else 0. Sums of columns of these rows go to `bias_grad`, [cols], which is filled.
void ReluEpilogueBackward(const ConstRows& grad, int64_t cols, const uint64_t* mask, float scale,
                          int64_t begin, int64_t end, const MutableRows& out, float* bias_grad);
// The same, rounded to bfloat16; sums of columns are made before that.
void ReluEpilogueBackward(const ConstRows& grad, int64_t cols, const uint64_t* mask, float scale,
                          int64_t begin, int64_t end, const MutableBf16Rows& out, float* bias_grad);
void ReluEpilogueBackward(const ConstBf16Rows& grad, int64_t cols, const uint64_t* mask,
                          float scale, int64_t begin, int64_t end, const MutableBf16Rows& out,
                          float* bias_grad);

// Rows [begin, end) of `out`, which may be `values`: what `dropout` of (row, column) leaves of
// them, scaled; zeros elsewhere.
void DropRows(const ConstRows& values, int64_t cols, const Dropout& dropout, int64_t begin,
              int64_t end, const MutableRows& out);

}  // namespace halograph
