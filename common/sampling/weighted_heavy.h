// Draws of a node whose heaviest edges are set apart: first whether it is one of them, and which
// (SAMPLING.md, "Weighted picks").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/graph/weight_table.h"

namespace halograph {

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
