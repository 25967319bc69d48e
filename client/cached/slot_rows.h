// What a cache of rows knows of ids and of its slots: which ids are remote, by a number that counts
// through all cached node types, and what each slot has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "common/base/aligned_bytes.h"
#include "common/graph/partition_book.h"

namespace halograph {

// The ids of one node type that parts elsewhere own, numbered from `first` on. Thread-safe.
class RemoteIds {
 public:
  // `boundaries` of the type, parts + 1; own[p]: whether the rows of part p are here.
  RemoteIds(int64_t first, std::span<const int64_t> boundaries, const std::vector<bool>& own)
      : first_(first), ids_(boundaries.back()), count_(ids_) {
    for (size_t part = 0; part + 1 < boundaries.size(); ++part) {
      if (!own[part]) continue;
      own_.push_back({boundaries[part], boundaries[part + 1]});
      count_ -= own_.back().size();
    }
  }

  [[nodiscard]] int64_t first() const { return first_; }
  [[nodiscard]] int64_t count() const { return count_; }  // of remote ids
  [[nodiscard]] int64_t ids() const { return ids_; }
  // -1 for an id whose row is here.
  [[nodiscard]] int64_t NumberOf(int64_t id) const {
    int64_t before = 0;
    for (const IdRange& range : own_) {
      if (id < range.begin) break;
      if (id < range.end) return -1;
      before += range.size();
    }
    return first_ + id - before;
  }

 private:
  const int64_t first_;
  const int64_t ids_;
  int64_t count_;
  std::vector<IdRange> own_;  // ascending
};

// Which rows were fetched, by their numbers: a bit each. Not thread-safe. Creating it throws
// std::bad_alloc.
class FetchedRows {
 public:
  explicit FetchedRows(int64_t rows) : bits_(static_cast<size_t>(rows)) {}

  // Whether the row was fetched before.
  bool Add(int64_t number) {
    auto bit = bits_[static_cast<size_t>(number)];
    if (bit) return true;
    bit = true;
    most_ = std::max(most_, ++count_);
    return false;
  }
  // From now on none was.
  void Forget() {
    bits_.assign(bits_.size(), false);
    count_ = 0;
  }
  // The most that there were at a time.
  [[nodiscard]] int64_t most() const { return most_; }
  [[nodiscard]] int64_t bytes() const { return static_cast<int64_t>(bits_.capacity() / 8); }

 private:
  std::vector<bool> bits_;
  int64_t count_ = 0;
  int64_t most_ = 0;
};

// Slots of equal size: each has the rows of all cached tensors of one node, one after the other.
// Not thread-safe. Creating them throws std::bad_alloc; memory that is never written costs nothing.
class SlotRows {
 public:
  SlotRows(int64_t slots, size_t slot_bytes)
      : slot_bytes_(slot_bytes),
        holds_(static_cast<size_t>(slots), kNothing),
        bytes_(holds_.size() * slot_bytes) {}

  // By the number of RemoteIds.
  [[nodiscard]] bool Holds(int32_t slot, int64_t number) const {
    return holds_[static_cast<size_t>(slot)] == static_cast<uint32_t>(number);
  }
  void SetHolds(int32_t slot, int64_t number) {
    holds_[static_cast<size_t>(slot)] = static_cast<uint32_t>(number);
  }
  [[nodiscard]] std::byte* At(int32_t slot, size_t offset) const {
    return bytes_.data() + static_cast<size_t>(slot) * slot_bytes_ + offset;
  }

  [[nodiscard]] int64_t bytes() const {
    return static_cast<int64_t>(bytes_.size() + holds_.capacity() * sizeof(uint32_t));
  }

 private:
  static constexpr uint32_t kNothing = 0xffffffffU;

  const size_t slot_bytes_;
  std::vector<uint32_t> holds_;  // per slot
  const AlignedBytes bytes_;
};

}  // namespace halograph
