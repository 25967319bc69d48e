#include "partitioner/readers/id_set.h"

#include <algorithm>

namespace halograph {
namespace {

constexpr int64_t kSmallIds = int64_t{1} << 31;
constexpr size_t kMinUnsorted = size_t{1} << 16;

}  // namespace

void IdSet::Insert(int64_t id) {
  if (id < kSmallIds) {
    const auto word = static_cast<size_t>(id) / 64;
    if (word >= bits_.size()) bits_.resize(word + 1 + word / 2);
    bits_[word] |= uint64_t{1} << (id % 64);
    return;
  }
  large_.push_back(id);
  // Sorting whenever the list has doubled keeps it within twice the distinct ids.
  if (large_.size() >= std::max(kMinUnsorted, 2 * sorted_)) SortLarge();
}

void IdSet::SortLarge() {
  std::sort(large_.begin(), large_.end());
  large_.erase(std::unique(large_.begin(), large_.end()), large_.end());
  sorted_ = large_.size();
}

void IdSet::Seal() {
  SortLarge();
  int64_t count = 0;
  for (size_t word = 0; word < bits_.size(); ++word) {
    if (word % kWordsPerRank == 0) ranks_.push_back(count);
    count += std::popcount(bits_[word]);
  }
  ranks_.push_back(count);
}

int64_t IdSet::size() const { return ranks_.back() + static_cast<int64_t>(large_.size()); }

bool IdSet::IsRange() const {
  int64_t expected = 0;
  bool range = true;
  ForEach([&](int64_t id) { return range = id == expected++; });
  return range;
}

int64_t IdSet::Rank(int64_t id) const {
  if (id >= kSmallIds) {
    const auto found = std::lower_bound(large_.begin(), large_.end(), id);
    return ranks_.back() + (found - large_.begin());
  }
  const auto word = static_cast<size_t>(id) / 64;
  const size_t group = word / kWordsPerRank;
  int64_t rank = ranks_[group];
  for (size_t i = group * kWordsPerRank; i < word; ++i) rank += std::popcount(bits_[i]);
  return rank + std::popcount(bits_[word] & ((uint64_t{1} << (id % 64)) - 1));
}

}  // namespace halograph
