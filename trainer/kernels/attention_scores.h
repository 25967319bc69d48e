// Scores of a block's edges, and the way back. Values of edges, vectors, threads and bits as in
// attention_rows.h.
#pragma once

#include <cstdint>

#include "trainer/blocks/block_transpose.h"
#include "trainer/blocks/gather_rows.h"

namespace halograph {

// GAT: edge e from source u to destination v has, per head, the score
// LeakyReLU(source[u] + destination[v]). Rows of `heads` values without gaps.
struct AdditiveScores {
  const float* source = nullptr;
  const float* destination = nullptr;
  int64_t heads = 1;
  float negative_slope = 0.2F;  // of LeakyReLU
};

// Of the edges of destinations [begin, end), to `out`.
void ScoreEdges(const AdditiveScores& scores, const int64_t* indptr, const int32_t* indices,
                int64_t begin, int64_t end, float* out);

// In place: the gradient of the scores becomes that of the sums source[u] + destination[v]. That of
// destination[v] goes to `destination_grad`.
void ScoreEdgesBackward(const AdditiveScores& scores, const int64_t* indptr, const int32_t* indices,
                        int64_t begin, int64_t end, float* grad, float* destination_grad);

// Rows [begin, end) of `out`, [sources, heads] without gaps: the sum of a source's edges of
// `values`; zeros where there are none.
void SumEdgesBySource(const TransposedBlock& by_source, int64_t heads, const float* values,
                      int64_t begin, int64_t end, float* out);

// GATv2: edge e from source u to destination v has, per head, the score
// <vector, LeakyReLU(source[u] + destination[v])>, of the head's segments. Rows of `cols` values.
struct DynamicScores {
  ConstRows source;
  ConstRows destination;
  const float* vector = nullptr;  // [cols]
  int64_t cols = 0;
  int64_t heads = 1;
  float negative_slope = 0.2F;  // of LeakyReLU
};

// Of the edges of destinations [begin, end), to `out`.
void ScoreEdges(const DynamicScores& scores, const int64_t* indptr, const int32_t* indices,
                int64_t begin, int64_t end, float* out);

// Destinations [begin, end), of `grad`, the gradient of the scores: that of their rows goes to
// `destination_grad`; that of the vector is added to `vector_grad`, destination by destination.
void ScoreEdgesBackward(const DynamicScores& scores, const int64_t* indptr, const int32_t* indices,
                        const float* grad, int64_t begin, int64_t end,
                        const MutableRows& destination_grad, float* vector_grad);

// Sources [begin, end): the gradient of their rows is added to `source_grad`.
void ScoreSourcesBackward(const DynamicScores& scores, const TransposedBlock& by_source,
                          const float* grad, int64_t begin, int64_t end,
                          const MutableRows& source_grad);

}  // namespace halograph
