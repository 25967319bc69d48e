// Tells whether a list that must hold every edge at both ends does, in one pass and a fixed amount
// of memory: pairs of nodes are hashed into a table of sums, to which an edge adds its hash and its
// reverse takes it away. Sums that are all 0 mean that the list is symmetric (but for one list in
// 2^64). Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace halograph {

class SymmetryCheck {
 public:
  SymmetryCheck();

  // The next edge of the list, ends in any order; 0 as the weight of every edge where there are
  // none. Parallel edges count; self-loops are their own reverse.
  void Add(int64_t source, int64_t destination, int64_t weight);
  [[nodiscard]] bool symmetric() const;

  // For a list that is not: an edge without its reverse of the same weight. The first one where the
  // edges that may be so are few (kMostSuspects), else one of them. `pairs`: the edges in the order
  // of Add, source and destination; `weights`: theirs, or empty.
  struct Odd {
    int64_t edge = 0;
    // Of a reverse with another weight; none: there is no reverse at all.
    std::optional<int64_t> other_weight;
  };
  [[nodiscard]] Odd FindOdd(std::span<const int64_t> pairs, std::span<const int64_t> weights) const;

  static constexpr int64_t kMostSuspects = int64_t{1} << 18;

 private:
  struct Cell {
    uint64_t sum = 0;
    int64_t edges = 0;
  };
  // Cells of odd sums, together of at most kMostSuspects edges (at least one cell).
  [[nodiscard]] std::vector<bool> Suspects() const;

  std::vector<Cell> table_;
};

}  // namespace halograph
