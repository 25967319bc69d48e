// Sums over pairs of clusters from a stream, for a limited number of different pairs: a sample
// by hash. While there is room, every pair is kept. When there is none, the kept share shrinks
// by a quarter: pairs with a hash above the new limit are removed and never taken again. So the
// sum of a pair that is kept at the end is complete, and whether it is kept depends on its hash
// and the limit alone. Any sum over kept pairs, divided by share(), is an unbiased estimate. Not
// thread-safe.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

class PairSample {
 public:
  struct Pair {
    uint32_t a = 0;  // a < b
    uint32_t b = 0;
    uint32_t weight = 0;  // 0: an empty place; stops at kMaxDegree
  };

  // Keeps at most max_pairs >= 1. ResourceExhausted: no memory.
  [[nodiscard]] static StatusOr<PairSample> Make(int64_t max_pairs, uint64_t key);

  // Adds 1 to the pair {a, b}; a != b. The order of a and b does not matter.
  void Add(uint32_t a, uint32_t b);
  // Hints that {a, b} will be added soon.
  void Prefetch(uint32_t a, uint32_t b) const;

  [[nodiscard]] int64_t size() const { return size_; }
  // Of the pairs that were added: 1, 3/4, 9/16, ...
  [[nodiscard]] double share() const;
  // Calls visit(pair), in an order that depends on what was added.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Pair& pair : places_.span()) {
      if (pair.weight > 0) visit(pair);
    }
  }

 private:
  PairSample(int64_t max_pairs, uint64_t key) : max_pairs_(max_pairs), key_(key) {}
  [[nodiscard]] uint64_t Hash(uint32_t a, uint32_t b) const;
  // The low half decides about keeping, the high bits about the place.
  [[nodiscard]] bool Kept(uint64_t hash) const { return static_cast<uint32_t>(hash) <= limit_; }
  [[nodiscard]] int64_t Place(uint64_t hash) const;
  [[nodiscard]] int64_t Find(uint64_t hash, uint32_t a, uint32_t b) const;
  void Thin();

  int64_t max_pairs_;
  uint64_t key_;
  uint32_t limit_ = 4294967295;
  int64_t size_ = 0;
  NodeArray<Pair> places_;
};

// Memory of a sample, a pair that it keeps at most: 12 bytes a place, four places for three pairs,
// and the survivors while it is thinned.
inline constexpr int64_t kPairSampleBytes = 12 * 4 / 3 + 12 * 3 / 4;

}  // namespace halograph
