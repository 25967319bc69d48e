// How many edges each partition has taken, against what it may take, with the least loaded at
// hand. Not thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace halograph {

class EdgeLoads {
 public:
  EdgeLoads() = default;
  EdgeLoads(int parts, int64_t cap) : loads_(static_cast<size_t>(parts), 0), cap_(cap) {
    FindLeast();
  }

  [[nodiscard]] int parts() const { return static_cast<int>(loads_.size()); }
  [[nodiscard]] int64_t of(int part) const { return loads_[static_cast<size_t>(part)]; }
  [[nodiscard]] bool HasRoom(int part) const { return of(part) < cap_; }
  [[nodiscard]] int64_t least() const { return least_; }
  [[nodiscard]] int64_t most() const { return most_; }

  // Amortised O(1): the least load rises at most edges / parts times.
  void Add(int part) {
    int64_t& load = loads_[static_cast<size_t>(part)];
    if (load++ == least_) {
      at_least_[static_cast<size_t>(part / 64)] &= ~(uint64_t{1} << (part % 64));
      if (--num_at_least_ == 0) FindLeast();
    }
    most_ = std::max(most_, load);
  }

  // Of the partitions with the least load the first at or behind partition `start`, cyclically.
  [[nodiscard]] int LeastLoaded(int start) const {
    const size_t words = at_least_.size();
    size_t word = static_cast<size_t>(start) / 64;
    uint64_t bits = at_least_[word] >> (start % 64) << (start % 64);
    for (size_t i = 0; bits == 0 && i <= words; ++i) {
      word = word + 1 == words ? 0 : word + 1;
      bits = at_least_[word];
    }
    return static_cast<int>(word) * 64 + std::countr_zero(bits);
  }

 private:
  void FindLeast() {
    least_ = *std::min_element(loads_.begin(), loads_.end());
    at_least_.assign((loads_.size() + 63) / 64, 0);
    num_at_least_ = 0;
    for (size_t p = 0; p < loads_.size(); ++p) {
      if (loads_[p] != least_) continue;
      at_least_[p / 64] |= uint64_t{1} << (p % 64);
      ++num_at_least_;
    }
  }

  std::vector<int64_t> loads_;
  int64_t cap_ = 0;
  int64_t least_ = 0, most_ = 0;
  std::vector<uint64_t> at_least_;  // a bit for each partition with the least load
  int num_at_least_ = 0;
};

}  // namespace halograph
