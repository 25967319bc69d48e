// The kept rows whose next use lies beyond the window: a list a class, from which the lowest class
// gives its oldest first, and any row can be taken out. 16 bytes a slot of the cache. Not
// thread-safe.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "client/cached/planner.h"

namespace halograph {

class IdleRows {
 public:
  explicit IdleRows(int64_t slots) : slots_(static_cast<size_t>(slots)) { ends_.fill({}); }

  // Requires that the slot is in no list. `used`: the step that used it last, lowest bits.
  void Add(uint32_t slot, uint32_t row, int row_class, uint32_t used) {
    Ends& ends = ends_[static_cast<size_t>(row_class)];
    slots_[slot] = {.row = row, .older = ends.newest, .newer = kEnd, .used = used};
    (ends.newest == kEnd ? ends.oldest : slots_[ends.newest].newer) = slot;
    ends.newest = slot;
    filled_ |= uint64_t{1} << row_class;
    ++size_;
  }
  // Requires that the slot is in the list of `row_class`.
  void Remove(uint32_t slot, int row_class) {
    Ends& ends = ends_[static_cast<size_t>(row_class)];
    const Slot& gone = slots_[slot];
    (gone.older == kEnd ? ends.oldest : slots_[gone.older].newer) = gone.newer;
    (gone.newer == kEnd ? ends.newest : slots_[gone.newer].older) = gone.older;
    if (ends.oldest == kEnd) filled_ &= ~(uint64_t{1} << row_class);
    --size_;
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] int64_t size() const { return size_; }
  // These two require that there is one.
  [[nodiscard]] int lowest_class() const { return std::countr_zero(filled_); }
  [[nodiscard]] uint32_t oldest_of_lowest() const {
    return ends_[static_cast<size_t>(lowest_class())].oldest;
  }
  // Of a slot in a list.
  [[nodiscard]] uint32_t row(uint32_t slot) const { return slots_[slot].row; }
  [[nodiscard]] uint32_t used(uint32_t slot) const { return slots_[slot].used; }
  [[nodiscard]] const void* address(uint32_t slot) const { return &slots_[slot]; }

  [[nodiscard]] int64_t bytes() const {
    return static_cast<int64_t>(slots_.capacity() * sizeof(Slot));
  }

 private:
  static constexpr uint32_t kEnd = 0xffffffffU;
  struct Slot {
    uint32_t row = 0;
    uint32_t older = kEnd;
    uint32_t newer = kEnd;
    uint32_t used = 0;
  };
  struct Ends {
    uint32_t oldest = kEnd;
    uint32_t newest = kEnd;
  };

  std::vector<Slot> slots_;
  std::array<Ends, kRowClasses> ends_ = {};
  uint64_t filled_ = 0;  // bit c: class c has a row
  int64_t size_ = 0;
};

}  // namespace halograph
