// Where a row was used last: of the rows that a planner's window names or its cache keeps, one
// reference of 31 bits and a mark each. A table by row, or one by hash where the id space is much
// larger. It does not know what references mean: to tell rows of one hash apart, it asks its user
// for the row of a reference. Not thread-safe. Functions that add throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/prefetch.h"
#include "common/base/rng.h"

namespace halograph {

class LastUses {
 public:
  static constexpr uint32_t kNone = 0xffffffffU;  // no reference

  // Rows are in [0, rows). Hashed: no entry a row.
  LastUses(int64_t rows, bool hashed) : hashed_(hashed) {
    if (hashed) {
      Resize(kLeastEntries);
    } else {
      refs_.assign(static_cast<size_t>(rows), kNone);
    }
  }

  // Sets the reference of `row`; gives the one before, or kNone. `row_of(reference)`: the row of
  // any reference in the table.
  template <typename RowOf>
  uint32_t Exchange(uint32_t row, uint32_t ref, const RowOf& row_of) {
    if (!hashed_) return std::exchange(refs_[row], ref);
    if (taken_ * 5 >= refs_.size() * 4) Rehash(row_of);
    const uint64_t hash = Mix(row);
    const uint8_t tag = TagOf(hash);
    size_t free = refs_.size();
    size_t at = HomeOf(hash);
    for (; tags_[at] != kEmpty; at = Next(at)) {
      if (tags_[at] == tag && row_of(refs_[at]) == row) return std::exchange(refs_[at], ref);
      if (tags_[at] == kErased && free == refs_.size()) free = at;
    }
    if (free == refs_.size()) {
      free = at;
      ++taken_;
    }
    tags_[free] = tag;
    refs_[free] = ref;
    ++size_;
    return kNone;
  }

  // Requires that `old_ref` is the row's.
  void Replace(uint32_t row, uint32_t old_ref, uint32_t ref) { refs_[Find(row, old_ref)] = ref; }
  template <typename RowOf>
  void Erase(uint32_t row, uint32_t old_ref, const RowOf& row_of) {
    const size_t at = Find(row, old_ref);
    refs_[at] = kNone;
    if (!hashed_) return;
    const bool ends = tags_[Next(at)] == kEmpty;
    tags_[at] = ends ? kEmpty : kErased;
    taken_ -= ends ? 1 : 0;
    --size_;
    // What a long window took goes back when the window is short again.
    if (refs_.size() > kLeastEntries && size_ * 4 < refs_.size()) Rehash(row_of);
  }

  void Prefetch(uint32_t row) const {
    const size_t at = hashed_ ? HomeOf(Mix(row)) : row;
    PrefetchToWrite(refs_.data() + at);
    if (hashed_) PrefetchToRead(tags_.data() + at);
  }
  // Most likely the row's reference, if it has one: to prefetch what it stands for.
  [[nodiscard]] uint32_t Guess(uint32_t row) const {
    return refs_[hashed_ ? HomeOf(Mix(row)) : row];
  }

  [[nodiscard]] bool hashed() const { return hashed_; }
  [[nodiscard]] size_t bytes() const {
    return refs_.capacity() * sizeof(uint32_t) + tags_.capacity();
  }

 private:
  static constexpr size_t kLeastEntries = 64;
  static constexpr uint8_t kEmpty = 0;
  static constexpr uint8_t kErased = 1;

  static uint8_t TagOf(uint64_t hash) { return static_cast<uint8_t>(2 + (hash & 0xff) % 254); }
  [[nodiscard]] size_t HomeOf(uint64_t hash) const { return Bounded(hash, refs_.size()); }
  [[nodiscard]] size_t Next(size_t at) const { return at + 1 == refs_.size() ? 0 : at + 1; }

  [[nodiscard]] size_t Find(uint32_t row, uint32_t ref) const {
    if (!hashed_) return row;
    size_t at = HomeOf(Mix(row));
    while (refs_[at] != ref) at = Next(at);
    return at;
  }

  void Resize(size_t entries) {
    refs_ = std::vector<uint32_t>(entries, kNone);
    tags_ = std::vector<uint8_t>(entries, kEmpty);
    taken_ = size_;
  }
  // Leaves 3 of 8 entries free.
  template <typename RowOf>
  void Rehash(const RowOf& row_of) {
    const std::vector<uint32_t> refs = std::move(refs_);
    Resize(size_ * 8 / 5 + kLeastEntries);
    for (const uint32_t ref : refs) {
      if (ref == kNone) continue;
      const uint64_t hash = Mix(row_of(ref));
      size_t at = HomeOf(hash);
      while (tags_[at] != kEmpty) at = Next(at);
      tags_[at] = TagOf(hash);
      refs_[at] = ref;
    }
  }

  const bool hashed_;
  std::vector<uint32_t> refs_;
  std::vector<uint8_t> tags_;  // hashed: kEmpty, kErased, or bits of the row's hash
  size_t size_ = 0;            // hashed: rows
  size_t taken_ = 0;           // hashed: entries that are not kEmpty
};

}  // namespace halograph
