// Sums of weights and places in them, and draws of a node whose heaviest edges are set apart: first
// whether it is one of them, and which (SAMPLING.md, "Weighted picks").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/graph/weight_table.h"

namespace halograph {

// ---- sums: only + and - here, nothing that a compiler could contract ----

// Where the sum of what is left is below, a share of it would be rounded to a multiple of the
// smallest double: everything is then multiplied by kWeightScale.
inline constexpr double kTinyWeightSum = 0x1p-900;
inline constexpr double kWeightScale = 0x1p900;

// Of a draw: its upper 53 bits, in [0, 1).
inline double DrawnShare(uint64_t draw) { return static_cast<double>(draw >> 11) * 0x1p-53; }

// In four lanes.
inline double LaneSum(std::span<const double> values) {
  std::array<double, 4> lanes = {};
  size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    for (size_t lane = 0; lane < 4; ++lane) lanes[lane] += values[i + lane];
  }
  for (; i < values.size(); ++i) lanes[i % 4] += values[i];
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

// Where `x` falls into the values laid end to end, and in `x` how far into that one. Requires a
// value above 0.
inline size_t LocateWeight(std::span<const double> values, double* x) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (*x < values[i]) return i;
    *x -= values[i];
  }
  *x = 0;  // rounding left it beyond the end
  size_t last = values.size() - 1;
  while (last > 0 && !(values[last] > 0)) --last;
  return last;
}

// ---- heavy edges ----

// Of one node, while its picks are drawn. Not thread-safe.
class HeavyDraws {
 public:
  static constexpr int kNone = -1;

  explicit HeavyDraws(const HeavyEdges& edges) : left_(edges.weights), rest_(edges.rest) { Sum(); }

  // Which of the heavy edges a draw falls on; kNone: on none, it is one of the others.
  [[nodiscard]] int Locate(uint64_t draw) const;

  // The edge is not drawn any more.
  void Remove(int heavy) {
    left_[static_cast<size_t>(heavy)] = 0;
    Sum();
  }

  // The sums of the heavy edges from each on: a guess at what is left when as many are picked.
  [[nodiscard]] std::array<double, kHeavyEdges> Tails() const;
  // Whether a draw would fall on none if the heavy edges added up to `heavy`.
  [[nodiscard]] bool FallsOnNone(uint64_t draw, double heavy) const;

 private:
  void Sum();

  std::array<double, kHeavyEdges> left_;  // weights of those not picked, 0 for the others
  double rest_;
  double heavy_ = 0;  // the sum of left_
};

}  // namespace halograph
