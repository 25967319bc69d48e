// The rows that rank highest, each fetched by the first step that needs it, and kept for ever. A
// chosen row's slot is how many chosen ones come before it: a bit a row and a count for every word
// of bits are all that is kept of the ranking.
#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <utility>

#include "client/cached/planner.h"

namespace halograph {
namespace {

class StaticPlanner final : public Planner {
 public:
  StaticPlanner(int64_t rows, int64_t slots, const std::vector<uint32_t>& chosen)
      : Planner(rows, slots),
        chosen_(static_cast<size_t>(rows + 63) / 64),
        seen_(chosen_.size()),
        before_(chosen_.size()),
        fetched_by_(chosen.size(), kNoStep) {
    for (const uint32_t row : chosen) chosen_[row / 64] |= uint64_t{1} << (row % 64);
    uint32_t sum = 0;
    for (size_t i = 0; i < chosen_.size(); ++i) {
      before_[i] = sum;
      sum += static_cast<uint32_t>(std::popcount(chosen_[i]));
    }
  }

  Status Announce(int64_t step, std::span<const int64_t> ids) override {
    HG_RETURN_IF_ERROR(CheckStep(step, ids));
    std::vector<int32_t> slots;
    slots.reserve(ids.size());
    for (const int64_t id : ids) slots.push_back(SlotOf(static_cast<uint64_t>(id)));
    if (const size_t twice = FindTwice(ids); twice < ids.size()) {
      return InvalidArgument("step {}: id {} at position {} stands twice; give each id once", step,
                             ids[twice], twice);
    }
    waiting_.push_back(std::move(slots));
    ++announced_;
    return OkStatus();
  }

  Status PlanNext(StepPlan* plan) override {
    if (waiting_.empty()) {
      return FailedPrecondition("step {} is to be planned, but it was not announced", planned_);
    }
    plan->step = planned_;
    plan->slots = std::move(waiting_.front());
    plan->misses.clear();
    plan->read_after = plan->write_after = kNoStep;
    plan->evicted = 0;
    plan->closed = true;
    for (size_t i = 0; i < plan->slots.size(); ++i) {
      const int32_t slot = plan->slots[i];
      int64_t* const by = slot == kNoSlot ? nullptr : &fetched_by_[static_cast<size_t>(slot)];
      if (by != nullptr && *by != kNoStep) {
        plan->read_after = std::max(plan->read_after, *by);
        continue;
      }
      if (by != nullptr) *by = planned_;
      plan->misses.push_back({static_cast<int32_t>(i), slot});
    }
    waiting_.pop_front();
    ++planned_;
    return OkStatus();
  }

  bool closed() const override { return !waiting_.empty(); }

  int64_t bytes() const override {
    size_t sum = (chosen_.capacity() + seen_.capacity()) * sizeof(uint64_t) +
                 before_.capacity() * sizeof(uint32_t) + fetched_by_.capacity() * sizeof(int64_t);
    for (const auto& slots : waiting_)
      sum += sizeof(std::vector<int32_t>) + slots.capacity() * sizeof(int32_t);
    return static_cast<int64_t>(sum);
  }

  int64_t table_bytes() const override {
    return static_cast<int64_t>((chosen_.capacity() + seen_.capacity()) * sizeof(uint64_t) +
                                before_.capacity() * sizeof(uint32_t));
  }

 private:
  int32_t SlotOf(uint64_t row) const {
    const uint64_t word = chosen_[row / 64];
    const uint64_t bit = uint64_t{1} << (row % 64);
    if ((word & bit) == 0) return kNoSlot;
    return static_cast<int32_t>(before_[row / 64]) + std::popcount(word & (bit - 1));
  }
  // The position of the first id that stands twice, or the number of ids.
  size_t FindTwice(std::span<const int64_t> ids) {
    size_t twice = 0;
    for (; twice < ids.size(); ++twice) {
      const auto row = static_cast<uint64_t>(ids[twice]);
      const uint64_t bit = uint64_t{1} << (row % 64);
      if ((seen_[row / 64] & bit) != 0) break;
      seen_[row / 64] |= bit;
    }
    for (size_t i = 0; i < twice; ++i) seen_[static_cast<uint64_t>(ids[i]) / 64] = 0;
    return twice;
  }

  std::vector<uint64_t> chosen_;              // a bit a row
  std::vector<uint64_t> seen_;                // a bit a row; none is set between calls
  std::vector<uint32_t> before_;              // per word of bits: chosen rows before it
  std::vector<int64_t> fetched_by_;           // per slot; kNoStep: by none yet
  std::deque<std::vector<int32_t>> waiting_;  // the slots of each step that is not planned
};

}  // namespace

StatusOr<std::unique_ptr<Planner>> MakeStaticPlanner(std::span<const float> weights,
                                                     int64_t slots) {
  if (weights.size() > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("a cache of rows of {} ids; there may be {}", weights.size(),
                           std::numeric_limits<uint32_t>::max());
  }
  if (slots < 1 || slots > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("a cache with room for {} rows; give it room for 1 to {}, or have none",
                           slots, std::numeric_limits<int32_t>::max());
  }
  std::vector<uint32_t> chosen;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) chosen.push_back(static_cast<uint32_t>(i));  // not what is no number
  }
  if (std::ssize(chosen) > slots) {
    const auto end = chosen.begin() + static_cast<ptrdiff_t>(slots);
    std::nth_element(chosen.begin(), end, chosen.end(), [&](uint32_t a, uint32_t b) {
      return weights[a] != weights[b] ? weights[a] > weights[b] : a < b;
    });
    chosen.erase(end, chosen.end());
  }
  return std::make_unique<StaticPlanner>(std::ssize(weights), slots, chosen);
}

}  // namespace halograph
