// The entries of a push in the order in which they are applied: ascending by row, those of one row
// in the order of lists and positions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "common/state/pushed_rows.h"
#include "common/storage/fused_array.h"

namespace halograph {

class PushOrder {
 public:
  // Sorts. Requires 0 <= row < rows for all, and that rows times the entries is below 2^63. Throws
  // std::bad_alloc. Memory is kept for the next push, up to kKeptEntries.
  void Sort(std::span<const PushedRows> lists, int64_t rows);
  // Frees memory beyond kKeptEntries.
  void Trim();

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] int64_t Row(size_t i) const {
    return static_cast<int64_t>(keys_.data()[i] >> entry_bits_);
  }
  struct Place {
    size_t list;
    size_t position;
  };
  [[nodiscard]] Place PlaceOf(size_t i) const {
    const size_t entry = keys_.data()[i] & ((uint64_t{1} << entry_bits_) - 1);
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), entry);
    return {static_cast<size_t>(end - ends_.begin()),
            end == ends_.begin() ? entry : entry - *std::prev(end)};
  }

  static constexpr size_t kKeptEntries = size_t{1} << 20;  // 16 MiB

 private:
  void RadixSort(int row_bits);

  size_t size_ = 0;
  int entry_bits_ = 0;
  FusedArray<uint64_t> keys_;   // row << entry_bits_ | entry
  FusedArray<uint64_t> other_;  // where RadixSort moves them
  std::vector<size_t> ends_;    // of the lists, as entries
};

}  // namespace halograph
