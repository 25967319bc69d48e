// A set of rows as a bitmap. Not thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace halograph {

class RowSet {
 public:
  RowSet() = default;
  explicit RowSet(int64_t rows) : rows_(rows), words_(static_cast<size_t>((rows + 63) / 64)) {}

  [[nodiscard]] int64_t rows() const { return rows_; }  // that it may hold
  void Add(int64_t row) { Word(row) |= Bit(row); }
  void Add(std::span<const int64_t> rows) {
    for (const int64_t row : rows) Add(row);
  }
  [[nodiscard]] bool Has(int64_t row) const {
    return (words_[static_cast<size_t>(row >> 6)] & Bit(row)) != 0;
  }
  // Whether it was there.
  bool Take(int64_t row) {
    const bool had = Has(row);
    Word(row) &= ~Bit(row);
    return had;
  }
  void AddAll(const RowSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  void Clear() { words_.assign(words_.size(), 0); }
  [[nodiscard]] int64_t Count() const {
    int64_t count = 0;
    for (const uint64_t word : words_) count += std::popcount(word);
    return count;
  }
  // The first row from `row` on that is in the set (`in`), or is not; rows() if there is none.
  [[nodiscard]] int64_t Next(int64_t row, bool in) const {
    while (row < rows_) {
      const uint64_t word = words_[static_cast<size_t>(row >> 6)];
      const uint64_t rest = (in ? word : ~word) >> (row & 63);
      if (rest != 0) return std::min(row + std::countr_zero(rest), rows_);
      row = (row | 63) + 1;
    }
    return rows_;
  }

 private:
  uint64_t& Word(int64_t row) { return words_[static_cast<size_t>(row >> 6)]; }
  static uint64_t Bit(int64_t row) { return uint64_t{1} << (row & 63); }

  int64_t rows_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace halograph
