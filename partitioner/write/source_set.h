// Finds parallel edges among the in-edges of one node. Most nodes use a small table; hubs use
// one bit per source, so that no node takes more than N / 4 bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace halograph {

// Not thread-safe.
class SourceSet {
 public:
  // Bytes that a set over `sources` ids takes at most.
  [[nodiscard]] static int64_t MaxBytes(int64_t sources) {
    return sources / 8 + 8 + 32 * LargestTable(sources);
  }

  // Sources are 0 .. sources - 1.
  explicit SourceSet(int64_t sources) : sources_(sources) {}

  // Empties the set, for a node of this in-degree (an upper bound).
  void Begin(int64_t degree) {
    use_bits_ = degree > LargestTable(sources_);
    if (use_bits_) {
      bits_.assign(static_cast<size_t>(sources_ / 64) + 1, 0);
      return;
    }
    const size_t size = std::bit_ceil(2 * static_cast<size_t>(degree));
    if (table_.size() < size) table_.resize(size);
    std::fill_n(table_.begin(), size, kNone);
    mask_ = size - 1;
    shift_ = 64 - std::bit_width(mask_);
  }

  // False if it was there already.
  [[nodiscard]] bool Insert(int64_t source) {
    const auto id = static_cast<uint64_t>(source);
    if (use_bits_) {
      uint64_t& word = bits_[id / 64];
      const uint64_t bit = uint64_t{1} << (id % 64);
      const bool is_new = (word & bit) == 0;
      word |= bit;
      return is_new;
    }
    size_t place = Hash(id);
    while (table_[place] != kNone) {
      if (table_[place] == id) return false;
      place = (place + 1) & mask_;
    }
    table_[place] = id;
    return true;
  }

 private:
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  [[nodiscard]] static int64_t LargestTable(int64_t sources) {
    return std::max<int64_t>(1024, sources / 256);
  }
  [[nodiscard]] size_t Hash(uint64_t id) const {
    return mask_ == 0 ? 0 : static_cast<size_t>((id * 0x9E3779B97F4A7C15) >> shift_);
  }

  const int64_t sources_;
  bool use_bits_ = false;
  std::vector<uint64_t> bits_;
  std::vector<uint64_t> table_;  // open addressing, at most half full
  size_t mask_ = 0;
  int shift_ = 0;
};

}  // namespace halograph
