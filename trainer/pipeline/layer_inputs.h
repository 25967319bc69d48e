// The rows that the first layer of a model reads, made by the thread that prepares a minibatch, so
// that the thread that trains need not. A model's first layer is the minibatch's last one.
//
// Thread-safe. What is computed does not depend on the number of threads. Functions throw
// std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "common/base/thread_pool.h"
#include "common/sampling/minibatch.h"
#include "trainer/blocks/gather_rows.h"
#include "trainer/options/row_choices.h"
#include "trainer/pipeline/feature_matrix.h"

namespace halograph {

// Features of the nodes of one type, wherever they are: a matrix, or each row where it is stored.
// Borrowed.
struct NodeRows {
  NodeRows() = default;                   // of no columns
  NodeRows(const FeatureMatrix& matrix);  // NOLINT: a matrix is rows of nodes
  // `stored`: where the row of each node is, `columns` values of float32, or of bfloat16.
  NodeRows(std::span<const std::byte* const> stored, int64_t columns, Precision precision);

  std::variant<ConstRows, ConstBf16Rows, ScatteredRows<float>, ScatteredRows<uint16_t>> rows;
  int64_t cols = 0;
};

// Row v: the features of destination v of a block, then the mean of its sources' features, as often
// as they are listed, by the block's coefficients and degrees (MeanOfRows); the mean of no sources
// is 0.
struct SelfAndMean {
  FeatureMatrix rows;  // columns from `cols` on are zeros: they keep rows apart (PaddedStride)
  int64_t cols = 0;    // of destinations and of sources together
};

// `destinations`: features of the block's destination type, of the destinations at least; `sources`
// of its source type, of all that the block lists; both of any precision. Means are summed in
// float32; rows of `precision` are made. `pool` shares the work with the caller; null: it works
// alone.
[[nodiscard]] SelfAndMean MakeSelfAndMean(const Block& block, const NodeRows& destinations,
                                          const NodeRows& sources, Precision precision,
                                          ThreadPool* pool);

}  // namespace halograph
