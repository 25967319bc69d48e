// Additive attention over a block's edges (GAT): scores of edges, their softmax by destination and
// the sum of rows by these weights in one pass over destinations; and the way back, in one pass
// over destinations and one over sources. The widest vectors of the processor are used. Each value
// is made by one thread, in the order of the CSC, so the number of threads changes no bit.
// Thread-safe: calls for different rows may run at once.
//
// Only the scores know that attention is additive: a kind with other scores (GATv2) makes its own,
// and has softmax, sum, and all of the way back below the gradient of the scores in common.
#pragma once

#include <cstdint>

#include "trainer/blocks/gather_rows.h"

namespace halograph {

// Edge e from source u to destination v has, per head, the score
// LeakyReLU(source[u] + destination[v]). Rows of `heads` values without gaps.
struct AttentionScores {
  const float* source = nullptr;
  const float* destination = nullptr;
  int64_t heads = 1;
  float negative_slope = 0.2F;  // of LeakyReLU
};

// Rows [begin, end) of `out`, and of `weights` those of these rows' edges. `picked`: the projected
// rows of sources, picked by destination, `heads` segments of the same width. weights[e]: the
// softmax over the edges of a destination of their scores, per head, [edges, heads] without gaps;
// the largest score is taken off first, so no finite score overflows. Row v of `out`: the sum of
// picked rows, each segment times its head's weight; zeros where no row is picked.
// A score that is NaN or infinity makes all weights of its destination and head NaN; minus infinity
// weighs 0, unless all of these scores are.
void AttendRows(const PickedRows& picked, const AttentionScores& scores, int64_t begin, int64_t end,
                float* weights, const MutableRows& out);

// Destinations [begin, end), of `grad`, the gradient of AttendRows' result: the gradient of the
// sums source[u] + destination[v] of their edges goes to `edge_grad`, [edges, heads] without gaps,
// and that of destination[v] to `destination_grad`, [destinations, heads]. The rest as it was given
// to AttendRows.
void AttendRowsBackward(const PickedRows& picked, const AttentionScores& scores,
                        const float* weights, const ConstRows& grad, int64_t begin, int64_t end,
                        float* edge_grad, float* destination_grad);

// Sources [begin, end): the gradient of the projected rows goes to `out`, that of source[u] to
// `source_grad`, [sources, heads] without gaps. `grad`: the gradient of AttendRows' result, picked
// by the transposed CSC; edges[i] is the edge that entry i of it stands for (EdgesBySource in
// block_transpose.h).
void AttendSourcesBackward(const PickedRows& grad, const int32_t* edges, int64_t heads,
                           const float* weights, const float* edge_grad, int64_t begin, int64_t end,
                           const MutableRows& out, float* source_grad);

}  // namespace halograph
