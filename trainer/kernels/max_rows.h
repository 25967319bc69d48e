// The largest of rows that are picked by a CSC, column by column, and the way back. The widest
// vectors of the processor are used. Each value is made by one thread, in the order of the CSC, so
// the number of threads changes no bit. Thread-safe: calls for different rows may run at once.
#pragma once

#include <cstdint>

#include "trainer/blocks/gather_rows.h"

namespace halograph {

// Rows [begin, end) of `out`: per column the largest value of the picked rows; zeros where no row
// is picked. `winners`, [rows, cols] without gaps, or null: the index whose value it is, -1 where
// no row is picked. Among equal values the one picked first wins (0 and -0 are equal). NaN is
// larger than all else; the first NaN wins.
void MaxOfRows(const PickedRows& picked, int64_t begin, int64_t end, const MutableRows& out,
               int32_t* winners);

// The gradient of the picked rows: rows [begin, end) of `out`. `grad`: the gradient of MaxOfRows'
// result, picked by the transposed CSC (block_transpose.h). Row u is the sum of the values of
// `grad` whose winner is u, in the order of destinations: one that lists u twice counts once.
void MaxOfRowsBackward(const PickedRows& grad, const int32_t* winners, int64_t begin, int64_t end,
                       const MutableRows& out);

}  // namespace halograph
