// The distinct ids of an edge list, and the rank of each. Const use is thread-safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace halograph {

// Ids below 2^31 in a bitmap as long as the largest of them, others in a sorted list: a bitmap
// alone could not hold ids that are hashes, and a hash set would be slow for all others.
class IdSet {
 public:
  void Insert(int64_t id);  // requires id >= 0
  // To be called once, after the last Insert and before anything below.
  void Seal();

  [[nodiscard]] int64_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  // True if the ids are 0 .. size() - 1.
  [[nodiscard]] bool IsRange() const;
  // How many ids of the set are smaller. Requires that `id` is in the set.
  [[nodiscard]] int64_t Rank(int64_t id) const;

  // Calls f(id) for every id in ascending order until it returns false.
  template <typename F>
  void ForEach(F&& f) const {
    for (size_t word = 0; word < bits_.size(); ++word) {
      for (uint64_t rest = bits_[word]; rest != 0; rest &= rest - 1) {
        if (!f(static_cast<int64_t>(word * 64) + std::countr_zero(rest))) return;
      }
    }
    for (const int64_t id : large_) {
      if (!f(id)) return;
    }
  }

 private:
  static constexpr size_t kWordsPerRank = 8;
  void SortLarge();

  std::vector<uint64_t> bits_;
  std::vector<int64_t> ranks_;  // ids before each group of kWordsPerRank words
  std::vector<int64_t> large_;
  size_t sorted_ = 0;  // of large_, when it was sorted last
};

}  // namespace halograph
