// What passes that move one node at a time share: the order in which nodes are visited, and sums
// of weights by cluster or partition.
#pragma once

#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "common/base/rng.h"

namespace halograph {

inline constexpr int64_t kVisitBlock = 4096;

// Calls visit(begin, end) once for every block of 0 .. nodes - 1, blocks in random order: lists on
// disk are read in long pieces, and no order of the input is repeated. A pure function of nodes and
// key.
template <typename Visit>
void ForEachBlock(int64_t nodes, uint64_t key, Visit visit) {
  std::vector<int64_t> blocks(static_cast<size_t>((nodes + kVisitBlock - 1) / kVisitBlock));
  std::iota(blocks.begin(), blocks.end(), 0);
  CounterRng rng(key);
  for (size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[rng.NextBounded(i)]);
  for (const int64_t block : blocks) {
    const int64_t begin = block * kVisitBlock;
    visit(begin, begin + kVisitBlock < nodes ? begin + kVisitBlock : nodes);
  }
}

// Sums of weights by key, for the neighbours of one node at a time: a small open-addressing table
// that is emptied in time proportional to its contents. Not thread-safe.
class Ratings {
 public:
  struct Rating {
    uint32_t key;
    int64_t weight;
  };

  // Empties it and makes room for `keys` different keys.
  void Reset(int64_t keys) {
    for (const uint32_t slot : used_) slots_[slot] = 0;
    used_.clear();
    ratings_.clear();
    const size_t wanted = std::bit_ceil(2 * static_cast<uint64_t>(keys) + 2);
    if (wanted > slots_.size()) slots_.assign(wanted, 0);
    mask_ = static_cast<uint32_t>(wanted - 1);
  }

  void Add(uint32_t key, int64_t weight) {
    auto slot = static_cast<uint32_t>(key * kGolden >> 32) & mask_;
    for (; slots_[slot] != 0; slot = (slot + 1) & mask_) {
      Rating& rating = ratings_[slots_[slot] - 1];
      if (rating.key != key) continue;
      rating.weight += weight;
      return;
    }
    ratings_.push_back({key, weight});
    slots_[slot] = static_cast<uint32_t>(ratings_.size());
    used_.push_back(slot);
  }

  // In the order in which keys were first added.
  [[nodiscard]] std::span<const Rating> all() const { return ratings_; }

 private:
  uint32_t mask_ = 0;
  std::vector<uint32_t> slots_;  // 0: free; else index of the rating + 1
  std::vector<uint32_t> used_;
  std::vector<Rating> ratings_;
};

}  // namespace halograph
