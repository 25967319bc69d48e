// Dense products of bfloat16 matrices, summed in float32, by the instructions of AVX512-BF16: two
// terms in one step. Every processor with AMX's bfloat16 has them too.
// As these instructions do, denormal numbers count as 0, and each value is one sum over pairs of
// terms in order, by one thread: neither the number of threads nor how rows are cut into calls
// changes a bit, except where a cut parts a pair. NaN and infinity go where they go in a plain
// product. Thread-safe: calls whose results lie apart may run at once.
#pragma once

#include <cstdint>

#include "trainer/blocks/bf16_rows.h"
#include "trainer/blocks/gather_rows.h"

namespace halograph {

// Whether this processor has the instructions. All else here requires it, but PairRows.
[[nodiscard]] bool HasBf16Products();

// Two bfloat16 in four bytes, terms 2k (low) and 2k + 1 of a product. A row of bfloat16 is a row of
// pairs if its stride is even; after an odd number of terms there must be a zero.
struct ConstPairs {
  const uint32_t* data = nullptr;
  int64_t stride = 0;  // pairs from one row to the next
};
struct MutablePairs {
  uint32_t* data = nullptr;
  int64_t stride = 0;
};

// Row p of `out` has in column c the pair of rows 2p and 2p + 1 of `rows`, [count, cols]; zeros
// stand for a row that is missing. `out`: [(count + 1) / 2, cols].
void PairRows(const ConstBf16Rows& rows, int64_t count, int64_t cols, const MutablePairs& out);

// out = left * right. `left`: [rows, pairs]; `right`: [pairs, cols], rows that may be read to
// RoomForColumns(cols) (product.h), whatever is there; `out`: [rows, cols]. Where rows of `out` are
// at least that far apart, what is behind their columns is overwritten.
void MultiplyPairs(const ConstPairs& left, int64_t rows, int64_t pairs, const ConstPairs& right,
                   int64_t cols, const MutableRows& out);

// out += the transpose of left * right. `left`: [pairs, rows]; else as MultiplyPairs.
void AddTransposedPairs(const ConstPairs& left, int64_t rows, int64_t pairs,
                        const ConstPairs& right, int64_t cols, const MutableRows& out);

}  // namespace halograph
