// The picks of one destination by the sampling contract (SAMPLING.md, "Picks"), one at a time: the
// one home of the draws. Whatever draws faster must give the same positions in the same order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "absl/container/flat_hash_set.h"
#include "common/base/rng.h"
#include "common/sampling/request.h"

namespace halograph {

// Up to this fanout a repeat is found by scanning the picks before it (at most 48 * 47 / 2
// compares, vectorised); beyond it a hash set is cheaper.
inline constexpr int64_t kScanPicks = 48;

// How many edges are picked of `degree`.
inline int64_t PicksOf(int64_t degree, int32_t fanout, bool replace) {
  if (fanout == kFullNeighborhood || degree == 0) return degree;
  return replace ? int64_t{fanout} : std::min<int64_t>(fanout, degree);
}

// Whether the picks are every edge in file order, without a draw. (With replacement as many picks
// as edges are still draws.)
inline bool TakesAll(int64_t degree, int32_t fanout, bool replace) {
  return fanout == kFullNeighborhood || degree == 0 || (!replace && fanout >= degree);
}

inline void DrawWithReplacement(uint64_t node_key, int64_t degree, std::span<int64_t> positions) {
  for (size_t i = 0; i < positions.size(); ++i) {
    positions[i] = static_cast<int64_t>(
        Bounded(SubKey(node_key, static_cast<uint64_t>(i)), static_cast<uint64_t>(degree)));
  }
}

// Floyd's algorithm: positions.size() of `degree`, which must be more. Its memory is reused.
class FloydDrawer {
 public:
  void Draw(uint64_t node_key, int64_t degree, std::span<int64_t> positions) {
    const auto k = static_cast<int64_t>(positions.size());
    if (k > kScanPicks) return DrawMany(node_key, degree, positions);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t j = degree - k + i;
      const int64_t t = Candidate(node_key, i, j);
      bool taken = false;
      for (int64_t before = 0; before < i; ++before) taken |= positions[before] == t;
      positions[i] = taken ? j : t;
    }
  }

 private:
  static int64_t Candidate(uint64_t node_key, int64_t i, int64_t j) {
    return static_cast<int64_t>(
        Bounded(SubKey(node_key, static_cast<uint64_t>(i)), static_cast<uint64_t>(j) + 1));
  }

  void DrawMany(uint64_t node_key, int64_t degree, std::span<int64_t> positions) {
    const auto k = static_cast<int64_t>(positions.size());
    taken_.clear();
    taken_.reserve(positions.size());
    for (int64_t i = 0; i < k; ++i) {
      const int64_t j = degree - k + i;
      const int64_t t = Candidate(node_key, i, j);
      positions[i] = taken_.insert(t).second ? t : j;
      if (positions[i] == j) taken_.insert(j);
    }
  }

  absl::flat_hash_set<int64_t> taken_;
};

}  // namespace halograph
