// Belady's choice among the steps of a window, forward and without a search. A kept row stands in
// the stack of the step that needs it next, which uses that stack up whole when it is planned; so
// no entry is ever removed from the middle of one, and the row to evict is on top of the furthest
// stack that is not empty. Rows that no step of the window needs stand in lists of classes
// (idle_rows.h); they go before all others.
//
// Within a step hits come before misses, and misses in the order of their next use, nearest first:
// so the rows that are kept are those needed soonest of all that were there, no miss evicts another
// one, and once a miss is not kept, none after it is.
#include <algorithm>
#include <limits>
#include <utility>

#include "client/cached/access_window.h"
#include "client/cached/idle_rows.h"
#include "client/cached/last_uses.h"
#include "client/cached/planner.h"
#include "common/base/prefetch.h"

namespace halograph {
namespace {

class LookAheadPlanner final : public Planner {
 public:
  LookAheadPlanner(LookAheadOptions options, bool hashed)
      : Planner(options.rows, options.slots),
        classes_(std::move(options.classes)),
        last_(options.rows, hashed),
        idle_(options.slots) {}

  Status Announce(int64_t step, std::span<const int64_t> ids) override {
    HG_RETURN_IF_ERROR(CheckStep(step, ids));
    if (!window_.HasRoomFor(ids.size())) {
      return ResourceExhausted("step {}: with {} steps before it the window is full; plan some",
                               step, announced_ - planned_);
    }
    WindowStep& added = window_.Append(step, ids.size());
    for (size_t i = 0; i < ids.size(); ++i) added.accesses[i].row = static_cast<uint32_t>(ids[i]);
    const size_t twice = FindLastUses(added);
    if (twice < ids.size()) {
      ForgetLastUses(added, twice);
      window_.DropBack();
      return InvalidArgument("step {}: id {} at position {} stands twice; give each id once", step,
                             ids[twice], twice);
    }
    Link(added);
    ++announced_;
    return OkStatus();
  }

  Status PlanNext(StepPlan* plan) override {
    if (window_.empty()) {
      return FailedPrecondition("step {} is to be planned, but it was not announced", planned_);
    }
    WindowStep& step = window_.front();
    plan->step = step.number;
    plan->slots.assign(step.size, kNoSlot);
    plan->misses.clear();
    plan->read_after = plan->write_after = kNoStep;
    plan->evicted = 0;
    plan->closed = closed();
    TakeHits(step, plan);
    TakeMisses(step, plan);
    window_.DropFront();
    ++planned_;
    return OkStatus();
  }

  // Of the kept rows and the step's own, those that stay are certain if as many as there are slots
  // have a known next use, since all others have one beyond the window; or if there is room for
  // all.
  bool closed() const override {
    if (window_.empty()) return false;
    const WindowStep& step = window_.front();
    const int64_t waiting = waiting_ - static_cast<int64_t>(step.waiting.size());
    return waiting + step.linked >= slots_ || waiting + idle_.size() + step.size <= slots_;
  }

  int64_t bytes() const override {
    return window_.bytes() + idle_.bytes() +
           static_cast<int64_t>(last_.bytes() + classes_.capacity() + counts_.capacity() * 4 +
                                (order_.capacity() + sorted_.capacity()) * sizeof(uint64_t));
  }
  int64_t table_bytes() const override {
    return static_cast<int64_t>(classes_.capacity() + (last_.hashed() ? 0 : last_.bytes()));
  }

 private:
  static constexpr size_t kAhead = 16;  // accesses for which memory is asked before they come

  int ClassOf(uint32_t row) const { return classes_.empty() ? 0 : classes_[row]; }
  // The row that a reference of `last_` stands for.
  auto RowOf() const {
    return [this](uint32_t reference) {
      if ((reference & kSlotReference) != 0) return idle_.row(reference & ~kSlotReference);
      return window_.At(reference).row;
    };
  }
  void Prefetch(uint32_t reference) const {
    if (reference == kNone) return;
    PrefetchToWrite((reference & kSlotReference) != 0 ? idle_.address(reference & ~kSlotReference)
                                                      : &window_.At(reference));
  }

  // Makes the step's accesses the last ones of their rows, and notes in each, as its next, what was
  // the last before. Gives the position of an id that stands twice, where it ends, or how many ids.
  size_t FindLastUses(WindowStep& step) {
    const auto row_of = RowOf();
    WindowAccess* const accesses = step.accesses.get();
    for (size_t i = 0; i < step.size; ++i) {
      if (i + 2 * kAhead < step.size) last_.Prefetch(accesses[i + 2 * kAhead].row);
      if (i + kAhead < step.size) Prefetch(last_.Guess(accesses[i + kAhead].row));
      const uint32_t before = last_.Exchange(accesses[i].row, step.ReferenceTo(i), row_of);
      const bool access = (before & kSlotReference) == 0;
      if (access && &window_.StepOf(before) == &step) {
        last_.Replace(accesses[i].row, step.ReferenceTo(i), before);
        return i;
      }
      accesses[i].next = before;
    }
    return step.size;
  }
  void ForgetLastUses(const WindowStep& step, size_t count) {
    for (size_t i = count; i-- > 0;) {
      const WindowAccess& access = step.accesses[i];
      if (access.next == kNone) {
        last_.Erase(access.row, step.ReferenceTo(i), RowOf());
      } else {
        last_.Replace(access.row, step.ReferenceTo(i), access.next);
      }
    }
  }

  // Tells the access before of each, or the slot in which the row waited, when its row is needed.
  void Link(WindowStep& step) {
    WindowAccess* const accesses = step.accesses.get();
    for (size_t i = 0; i < step.size; ++i) {
      if (i + kAhead < step.size) Prefetch(accesses[i + kAhead].next);
      const uint32_t before = std::exchange(accesses[i].next, kNone);
      if (before == kNone) continue;
      if ((before & kSlotReference) != 0) {
        const uint32_t slot = before & ~kSlotReference;
        idle_.Remove(slot, ClassOf(accesses[i].row));
        Wait(step, {static_cast<uint32_t>(i), slot, idle_.used(slot)});
      } else {
        WindowStep& earlier = window_.StepOf(before);
        earlier.accesses[earlier.PositionOf(before)].next = step.ReferenceTo(i);
        ++earlier.linked;
      }
    }
  }

  void Wait(WindowStep& step, const WaitingUse& use) {
    step.waiting.Push(use);
    ++waiting_;
    furthest_ = std::max(furthest_, step.number);
  }
  // The row of an access of the planned step stays in `slot`.
  void Keep(const WindowStep& step, size_t position, uint32_t slot) {
    const WindowAccess& access = step.accesses[position];
    const auto used = static_cast<uint32_t>(step.number);
    if (access.next != kNone) {
      WindowStep& next = window_.StepOf(access.next);
      Wait(next, {next.PositionOf(access.next), slot, used});
    } else {
      idle_.Add(slot, access.row, ClassOf(access.row), used);
      last_.Replace(access.row, step.ReferenceTo(position), kSlotReference | slot);
    }
  }
  // The number of an earlier step, or of this one, by its lowest bits.
  static int64_t Whole(const WindowStep& step, uint32_t used) {
    return step.number - static_cast<uint32_t>(static_cast<uint32_t>(step.number) - used);
  }

  void TakeHits(WindowStep& step, StepPlan* plan) {
    while (step.waiting.size() > 0) {
      const WaitingUse use = step.waiting.Pop();
      --waiting_;
      plan->slots[use.position] = static_cast<int32_t>(use.slot);
      plan->read_after = std::max(plan->read_after, Whole(step, use.used));
      Keep(step, use.position, use.slot);
    }
  }

  void TakeMisses(const WindowStep& step, StepPlan* plan) {
    order_.clear();
    for (size_t i = 0; i < step.size; ++i) {
      if (plan->slots[i] != kNoSlot) continue;
      order_.push_back(uint64_t{RankOf(step, i)} << 32 | plan->misses.size());
      plan->misses.push_back({static_cast<int32_t>(i), kNoSlot});
    }
    SortByRank();
    bool keeps = true;
    for (const uint64_t ranked : order_) {
      PlannedMiss& miss = plan->misses[static_cast<uint32_t>(ranked)];
      const WindowAccess& access = step.accesses[miss.position];
      const uint32_t slot = keeps ? SlotFor(step, access, plan) : kNone;
      keeps = slot != kNone;
      if (keeps) {
        miss.slot = plan->slots[miss.position] = static_cast<int32_t>(slot);
        Keep(step, static_cast<size_t>(miss.position), slot);
      } else if (access.next == kNone) {
        last_.Erase(access.row, step.ReferenceTo(miss.position), RowOf());
      }
    }
  }
  // Ascending by next use; then those without one, the best class first.
  uint32_t RankOf(const WindowStep& step, size_t position) const {
    const WindowAccess& access = step.accesses[position];
    if (access.next != kNone) {
      return static_cast<uint32_t>(window_.StepOf(access.next).number - step.number);
    }
    return kMostRanks - 1 - ClassOf(access.row);
  }
  // Counts where the ranks are dense, as they are but for windows of many steps of few rows.
  void SortByRank() {
    const auto steps = static_cast<size_t>(announced_ - planned_);
    if (steps > 4 * order_.size() + 1024) return std::sort(order_.begin(), order_.end());
    const auto place = [&](uint64_t ranked) {
      const uint64_t rank = ranked >> 32;
      return rank < steps ? rank : steps + rank - (kMostRanks - kRowClasses);
    };
    counts_.assign(steps + kRowClasses + 1, 0);
    for (const uint64_t ranked : order_) ++counts_[place(ranked) + 1];
    for (size_t i = 1; i < counts_.size(); ++i) counts_[i] += counts_[i - 1];
    sorted_.resize(order_.size());
    for (const uint64_t ranked : order_) sorted_[counts_[place(ranked)]++] = ranked;
    std::swap(order_, sorted_);
  }

  // A slot for a miss: a new one, or that of a kept row which is needed later; else kNone.
  uint32_t SlotFor(const WindowStep& step, const WindowAccess& access, StepPlan* plan) {
    if (fresh_ < slots_) return static_cast<uint32_t>(fresh_++);
    const bool known = access.next != kNone;
    if (!idle_.empty() && (known || idle_.lowest_class() < ClassOf(access.row))) {
      const uint32_t slot = idle_.oldest_of_lowest();
      const uint32_t row = idle_.row(slot);
      last_.Erase(row, kSlotReference | slot, RowOf());
      idle_.Remove(slot, ClassOf(row));
      return Evicted(step, slot, idle_.used(slot), plan);
    }
    if (!known) return kNone;
    while (furthest_ > step.number && window_.step(furthest_).waiting.size() == 0) --furthest_;
    if (furthest_ <= window_.StepOf(access.next).number) return kNone;
    const WaitingUse use = window_.step(furthest_).waiting.Pop();
    --waiting_;
    return Evicted(step, use.slot, use.used, plan);
  }
  static uint32_t Evicted(const WindowStep& step, uint32_t slot, uint32_t used, StepPlan* plan) {
    ++plan->evicted;
    // Of a step's own hits the plan says that they are read first.
    const int64_t by = Whole(step, used);
    if (by < step.number) plan->write_after = std::max(plan->write_after, by);
    return slot;
  }

  static constexpr uint32_t kNone = LastUses::kNone;
  static constexpr uint32_t kMostRanks = uint32_t{1} << 31;

  const std::vector<uint8_t> classes_;  // per row, or empty
  AccessWindow window_;
  LastUses last_;
  IdleRows idle_;
  int64_t waiting_ = 0;   // kept rows in the stacks of steps
  int64_t furthest_ = 0;  // no step after it has a row in its stack
  int64_t fresh_ = 0;     // slots from here on were never used
  // Of the step that is planned: rank << 32 | miss; and what sorts them.
  std::vector<uint64_t> order_;
  std::vector<uint64_t> sorted_;
  std::vector<uint32_t> counts_;
};

}  // namespace

StatusOr<std::unique_ptr<Planner>> MakeLookAheadPlanner(LookAheadOptions options) {
  if (options.rows < 0 || options.rows > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("a cache of rows of {} ids; there may be {}", options.rows,
                           std::numeric_limits<uint32_t>::max());
  }
  if (options.slots < 1 || options.slots >= int64_t{kSlotReference} - 2) {
    return InvalidArgument("a cache with room for {} rows; give it room for 1 to {}, or have none",
                           options.slots, kSlotReference - 3);
  }
  if (!options.classes.empty() && std::ssize(options.classes) != options.rows) {
    return InvalidArgument("{} classes for {} rows; give one a row", options.classes.size(),
                           options.rows);
  }
  for (const uint8_t row_class : options.classes) {
    if (row_class < kRowClasses) continue;
    return InvalidArgument("class {} of a row; there are {}", row_class, kRowClasses);
  }
  // 4 bytes a row, or some 8 a row of the window, which has about four rows a slot if it is closed.
  constexpr int64_t kSmallSpace = int64_t{1} << 16;
  const bool hashed = options.table == LastUseTable::kHashed ||
                      (options.table == LastUseTable::kAuto && options.rows > kSmallSpace &&
                       options.rows / 8 > options.slots);
  return std::make_unique<LookAheadPlanner>(std::move(options), hashed);
}

}  // namespace halograph
