// Sums of weights and places in them, as the contract has them (SAMPLING.md, "Weighted picks").
// Only + and - here: nothing that a compiler could contract.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace halograph {

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

}  // namespace halograph
