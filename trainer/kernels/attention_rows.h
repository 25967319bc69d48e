// What all kinds of attention over a block's edges have in common: the softmax of scores by
// destination, the sum of rows by these weights, and the way back. attention_scores.h makes the
// scores. The widest vectors of the processor are used. Each value is made by one thread, in the
// order of the CSC, so the number of threads changes no bit. Thread-safe: calls for different rows
// may run at once.
//
// Edges have a value for each head, [edges, heads] without gaps, in the order of the CSC. Rows have
// `heads` segments of the same width, head after head.
#pragma once

#include <cstdint>

#include "trainer/blocks/block_transpose.h"
#include "trainer/blocks/gather_rows.h"
#include "trainer/kernels/dropout.h"

namespace halograph {

// Of the edges of destinations [begin, end), in place: scores become weights, per head their
// softmax over the edges of a destination. The largest score is taken off first, so no finite score
// overflows. A score that is NaN or infinity makes all weights of its destination and head NaN;
// minus infinity weighs 0, unless all of these scores are.
// With `coefficients`, one an edge, or null: exp(score) counts that often in the softmax, made of
// scores plus logarithms, so no coefficient overflows. An edge of coefficient 0 weighs 0 whatever
// its score; where all weigh 0, so they stay: their sum is 0, not 1.
void SoftmaxOfEdges(const int64_t* indptr, int64_t heads, const float* coefficients, int64_t begin,
                    int64_t end, float* values);

// In place: the gradient of `weights`, which SoftmaxOfEdges made, becomes that of the scores.
void SoftmaxOfEdgesBackward(const int64_t* indptr, int64_t heads, const float* weights,
                            int64_t begin, int64_t end, float* grad);

// Edges [begin, end): what `dropout` leaves of `values`, and scales, goes to `out`, which may be
// the same. It draws for the places (edge, head).
void DropEdges(const Dropout& dropout, int64_t heads, int64_t begin, int64_t end,
               const float* values, float* out);

// Rows [begin, end) of `out`: the sum of the rows that are picked by destination, each segment
// times its head's weight; zeros where no row is picked.
void AttendRows(const PickedRows& picked, int64_t heads, const float* weights, int64_t begin,
                int64_t end, const MutableRows& out);

// Sources [begin, end) of a block: the gradient of `rows`, those that were picked, goes to `out`,
// and that of the weights of their edges to `weights_grad`. `grad`: that of AttendRows' result,
// [destinations, cols]. One pass: a row of a source is read once for all of its edges.
void AttendRowsBackward(const TransposedBlock& by_source, const ConstRows& grad,
                        const ConstRows& rows, int64_t cols, int64_t heads, const float* weights,
                        int64_t begin, int64_t end, const MutableRows& out, float* weights_grad);

}  // namespace halograph
