#include "common/state/push_order.h"

#include <array>
#include <bit>
#include <cassert>
#include <utility>

namespace halograph {
namespace {

constexpr int kMostDigitBits = 11;         // counters fit into the first cache
constexpr size_t kLeastRadixSorted = 512;  // below, counters cost more than comparisons

}  // namespace

void PushOrder::Sort(std::span<const PushedRows> lists, int64_t rows) {
  ends_.clear();
  size_ = 0;
  for (const PushedRows& list : lists) ends_.push_back(size_ += list.rows.size());
  if (size_ == 0) return;
  entry_bits_ = std::bit_width(size_ - 1);
  const int row_bits = std::bit_width(static_cast<uint64_t>(rows - 1));
  assert(entry_bits_ + row_bits < 64);
  keys_.GrowTo(size_);
  uint64_t entry = 0;
  for (const PushedRows& list : lists) {
    for (const int64_t row : list.rows) {
      keys_.data()[entry] = static_cast<uint64_t>(row) << entry_bits_ | entry;
      ++entry;
    }
  }
  if (size_ < kLeastRadixSorted) {
    std::sort(keys_.data(), keys_.data() + size_);
  } else {
    RadixSort(row_bits);
  }
}

// Entries stand in their order already: only the bits of rows are sorted by, from the lowest.
void PushOrder::RadixSort(int row_bits) {
  other_.GrowTo(size_);
  const int passes = (row_bits + kMostDigitBits - 1) / kMostDigitBits;
  for (int pass = 0; pass < passes; ++pass) {
    const int first = entry_bits_ + row_bits * pass / passes;
    const int digit_bits = entry_bits_ + row_bits * (pass + 1) / passes - first;
    const uint64_t mask = (uint64_t{1} << digit_bits) - 1;
    std::array<uint64_t, size_t{1} << kMostDigitBits> next{};
    const uint64_t* const from = keys_.data();
    uint64_t* const to = other_.data();
    for (size_t i = 0; i < size_; ++i) ++next[from[i] >> first & mask];
    uint64_t sum = 0;
    for (uint64_t& count : next) sum += std::exchange(count, sum);
    for (size_t i = 0; i < size_; ++i) to[next[from[i] >> first & mask]++] = from[i];
    std::swap(keys_, other_);
  }
}

void PushOrder::Trim() {
  if (keys_.size() > kKeptEntries) keys_ = FusedArray<uint64_t>();
  if (other_.size() > kKeptEntries) other_ = FusedArray<uint64_t>();
}

}  // namespace halograph
