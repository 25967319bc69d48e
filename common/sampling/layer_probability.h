// By what a layer-wise sampler draws a candidate source: an integer weight W made of the
// candidate's column sum, which the owners of the destinations add up (column_sums.h; SAMPLING.md,
// "Layer-wise draws"). Pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "common/base/status.h"

namespace halograph {

// The W of a candidate, of its edges into the destinations: e of them, edge i into a destination of
// in-degree d_i (all its in-edges, not only those from candidates). Any W > 0 gives unbiased sums;
// which one gives the least error depends on how a layer adds up.
enum class LayerProbability : uint8_t {
  // The root of the sum of 1 / d_i^2: for means, and for GCN's normalisation. W = isqrt(S * 2^32)
  // where S sums DegreeShare(d_i).
  kDegree,
  // The root of e: for sums, and where a layer weighs its edges itself. W = isqrt(e * 2^32).
  kSqrt,
  // W = e: LADIES as published code has it, and FastGCN, where e is the out-degree.
  kCount,
  // W = e^2: equation 1 of arXiv 2311.02909.
  kCount2,
};

// What one edge adds to the column sum of its source; the numbers are those of the wire.
enum class ColumnValue : uint8_t {
  kOne,          // 1: the sum is the number of edges
  kDegreeShare,  // DegreeShare of the destination's in-degree
  // Of a page alone: all edges of the part add to one sum, that of the page's first source
  // (SumAsymmetry).
  kAsymmetry,
};

[[nodiscard]] constexpr ColumnValue ColumnValueOf(LayerProbability probability) {
  return probability == LayerProbability::kDegree ? ColumnValue::kDegreeShare : ColumnValue::kOne;
}

// 1 / degree^2 in units of 2^-32, rounded down, but at least 1. Requires degree > 0. A
// destination's edges add at most 2^32 as long as its in-degree is below 2^32; the sum of a column
// fits 64 bits.
[[nodiscard]] constexpr uint64_t DegreeShare(int64_t degree) {
  constexpr int64_t kOneAndMore = int64_t{1} << 16;  // beyond it the quotient is 0
  if (degree >= kOneAndMore) return 1;
  return (uint64_t{1} << 32) / static_cast<uint64_t>(degree * degree);
}

// The largest integer whose square is at most x * 2^32: below 2^48.
[[nodiscard]] uint64_t RootInUnits(uint64_t x);

// Makes column sums weights, in place: sums[i] becomes the W of candidate i, and 0 stays 0.
//   OutOfRange  kCount2, and a sum of 2^32 or more, whose square has more than 64 bits
[[nodiscard]] Status MakeWeights(LayerProbability probability, std::span<uint64_t> sums);

}  // namespace halograph
