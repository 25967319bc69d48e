// Products of bfloat16 matrices, summed in float32, are made of pairs: two bfloat16 in four bytes,
// terms 2k (low) and 2k + 1 of a product. Here is what a product takes, and what makes pairs;
// product_kernel.h has what multiplies them. Pairs are made by the widest vectors of the processor,
// chosen when first called. Thread-safe.
#pragma once

#include <cstdint>

#include "trainer/blocks/bf16_rows.h"
#include "trainer/blocks/gather_rows.h"

namespace halograph {

// A row of bfloat16 is a row of pairs if its stride is even; after an odd number of terms there
// must be a zero.
struct ConstPairs {
  const uint32_t* data = nullptr;
  int64_t stride = 0;  // pairs from one row to the next
};
struct MutablePairs {
  uint32_t* data = nullptr;
  int64_t stride = 0;
};

// A product whose result is `out`, [rows, cols]. Each value is one sum over pairs of terms in
// order, by one thread: neither the number of threads nor how rows are cut into calls changes a
// bit, except where a cut parts kPairGroup pairs. NaN and infinity go where they go in a plain
// product; denormal numbers count as 0. Where rows of `out` are RoomForColumns(cols) apart at least
// (product.h), what is behind their columns may be overwritten. Calls whose results lie apart may
// run at once.
struct PairProduct {
  ConstPairs left;  // [rows, pairs], or, of a transposed product, [pairs, rows]
  int64_t rows = 0;
  int64_t pairs = 0;
  ConstPairs right;  // [pairs, cols]: pair p of column c is of rows 2p and 2p + 1 of a matrix.
                     // Rows may be read to RoomForColumns(cols), whatever is there
  int64_t cols = 0;
  MutableRows out;
};

// Pairs that a call must not part from each other, if another one goes on where it ends.
inline constexpr int64_t kPairGroup = 16;

// Row p of `out` has in column c the pair of rows 2p and 2p + 1 of `rows`, [count, cols]; zeros
// stand for a row that is missing. `out`: [(count + 1) / 2, cols].
void PairRows(const ConstBf16Rows& rows, int64_t count, int64_t cols, const MutablePairs& out);

// The same of rows of float32, rounded as NarrowToBf16 does.
void PairRows(const ConstRows& rows, int64_t count, int64_t cols, const MutablePairs& out);

// The transpose of `pairs`, [rows, cols], into rows of `out`.
void TurnPairs(const ConstPairs& pairs, int64_t rows, int64_t cols, const MutablePairs& out);

}  // namespace halograph
