// The steps that a planner knows and has not planned, each with its accesses: which row, and which
// access of a later step is the row's next. An access is named by a number of 31 bits that goes
// round; the step of a number is found by its page, of which a step has whole ones, so that nothing
// is searched and an access takes 8 bytes. Not thread-safe. Append throws std::bad_alloc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "client/cached/last_uses.h"
#include "client/cached/planner.h"
#include "client/cached/use_stack.h"

namespace halograph {

// What a reference of LastUses stands for: an access, or, with this bit, a slot.
inline constexpr uint32_t kSlotReference = uint32_t{1} << 31;

struct WindowAccess {
  uint32_t row = 0;
  uint32_t next = LastUses::kNone;  // the row's next access; kNone: not known
};

struct WindowStep {
  int64_t number = 0;
  uint32_t first = 0;  // access
  uint32_t size = 0;
  int64_t linked = 0;  // accesses whose next is known
  std::unique_ptr<WindowAccess[]> accesses = nullptr;
  UseStack waiting = {};  // kept rows that this step needs next

  [[nodiscard]] uint32_t ReferenceTo(size_t position) const {
    return (first + static_cast<uint32_t>(position)) & (kSlotReference - 1);
  }
  [[nodiscard]] uint32_t PositionOf(uint32_t reference) const {
    return (reference - first) & (kSlotReference - 1);
  }
};

class AccessWindow {
 public:
  [[nodiscard]] bool empty() const { return steps_.empty(); }
  [[nodiscard]] bool HasRoomFor(size_t accesses) const {
    return pages_used_ + PagesOf(accesses) <= kMostWindowPages;
  }
  // Requires room for them. The new step's rows are 0.
  WindowStep& Append(int64_t number, size_t accesses) {
    const int64_t pages = PagesOf(accesses);
    if (pages_used_ + pages > std::ssize(by_page_)) GrowPages(pages_used_ + pages);
    WindowStep& step = steps_.emplace_back();
    step.number = number;
    step.first = static_cast<uint32_t>(next_page_ * kPageAccesses) & (kSlotReference - 1);
    step.size = static_cast<uint32_t>(accesses);
    step.accesses = std::make_unique<WindowAccess[]>(accesses);
    for (int64_t page = 0; page < pages; ++page) Page(next_page_ + page) = &step;
    next_page_ += pages;
    pages_used_ += pages;
    accesses_ += step.size;
    return step;
  }
  void DropBack() {
    next_page_ -= PagesOf(steps_.back().size);
    Forget(steps_.back());
    steps_.pop_back();
  }
  void DropFront() {
    Forget(steps_.front());
    steps_.pop_front();
    if (std::ssize(by_page_) > kLeastPages && pages_used_ * 8 < std::ssize(by_page_)) {
      GrowPages(pages_used_);
    }
  }

  [[nodiscard]] WindowStep& front() { return steps_.front(); }
  [[nodiscard]] const WindowStep& front() const { return steps_.front(); }
  // Requires a step that is here.
  [[nodiscard]] WindowStep& step(int64_t number) {
    return steps_[static_cast<size_t>(number - steps_.front().number)];
  }
  // Of a reference to an access that is here.
  [[nodiscard]] WindowStep& StepOf(uint32_t reference) const {
    return *by_page_[(reference / kPageAccesses) & (by_page_.size() - 1)];
  }
  [[nodiscard]] WindowAccess& At(uint32_t reference) const {
    const WindowStep& step = StepOf(reference);
    return step.accesses[step.PositionOf(reference)];
  }

  [[nodiscard]] int64_t bytes() const {
    int64_t sum = accesses_ * static_cast<int64_t>(sizeof(WindowAccess)) +
                  static_cast<int64_t>(by_page_.capacity() * sizeof(void*));
    for (const WindowStep& step : steps_) {
      sum += static_cast<int64_t>(sizeof(step) + step.waiting.bytes());
    }
    return sum;
  }

 private:
  static constexpr int64_t kLeastPages = 64;

  static int64_t PagesOf(size_t accesses) {
    return std::max<int64_t>(1,
                             (static_cast<int64_t>(accesses) + kPageAccesses - 1) / kPageAccesses);
  }
  [[nodiscard]] WindowStep*& Page(int64_t page) {
    return by_page_[static_cast<size_t>(page) & (by_page_.size() - 1)];
  }
  void Forget(const WindowStep& step) {
    pages_used_ -= PagesOf(step.size);
    accesses_ -= step.size;
  }
  // To a power of two that has room for `pages`: it divides the number of all pages.
  void GrowPages(int64_t pages) {
    int64_t size = kLeastPages;
    while (size < pages) size *= 2;
    by_page_ = std::vector<WindowStep*>(static_cast<size_t>(size), nullptr);
    for (WindowStep& step : steps_) {
      const int64_t first = step.first / kPageAccesses;
      for (int64_t page = 0; page < PagesOf(step.size); ++page) Page(first + page) = &step;
    }
  }

  std::deque<WindowStep> steps_;
  std::vector<WindowStep*> by_page_ = std::vector<WindowStep*>(kLeastPages, nullptr);
  int64_t next_page_ = 0;   // ever growing
  int64_t pages_used_ = 0;  // by all steps
  int64_t accesses_ = 0;    // of all steps
};

}  // namespace halograph
