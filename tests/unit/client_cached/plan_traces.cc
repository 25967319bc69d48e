#include "tests/unit/client_cached/plan_traces.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "common/base/rng.h"

namespace halograph {
namespace {

PlanTrace DrawTrace(const PlanTraceOptions& options,
                    const std::function<int64_t(CounterRng&, CounterRng&)>& draw) {
  PlanTrace trace;
  for (int64_t step = 0; step < options.steps; ++step) {
    const uint64_t key = SubKey(options.seed, static_cast<uint64_t>(step));
    CounterRng rng(SubKey(key, 0));
    std::set<int64_t> seen;
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < options.reads; ++i) {
      CounterRng of_step(SubKey(key, 1));
      const int64_t id = draw(rng, of_step);
      if (seen.insert(id).second) ids.push_back(id);
    }
    trace.push_back(std::move(ids));
  }
  return trace;
}

// Follows what the slots hold, and when they were last stored into and read.
class SlotReplay {
 public:
  explicit SlotReplay(int64_t slots) : slots_(static_cast<size_t>(slots)) {}

  std::string Check(const std::vector<int64_t>& ids, const StepPlan& plan) {
    if (plan.slots.size() != ids.size()) return fmt::format("{} slots", plan.slots.size());
    std::set<int32_t> missed;
    for (const PlannedMiss& miss : plan.misses) {
      const auto at = static_cast<size_t>(miss.position);
      if (!missed.insert(miss.position).second) return fmt::format("{} misses twice", at);
      if (plan.slots[at] != miss.slot) return fmt::format("miss {} has two slots", at);
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      if (missed.contains(static_cast<int32_t>(i))) continue;
      if (plan.slots[i] == kNoSlot) return fmt::format("row {} is nowhere", ids[i]);
      Slot& slot = slots_[static_cast<size_t>(plan.slots[i])];
      if (slot.row != ids[i]) return fmt::format("slot of row {} has {}", ids[i], slot.row);
      if (slot.stored > plan.read_after) return fmt::format("row {} is read too early", ids[i]);
      slot.used = plan.step;
    }
    std::set<int32_t> stored;
    for (const PlannedMiss& miss : plan.misses) {
      if (miss.slot == kNoSlot) continue;
      if (!stored.insert(miss.slot).second) return fmt::format("slot {} stored twice", miss.slot);
      Slot& slot = slots_[static_cast<size_t>(miss.slot)];
      if (slot.used > plan.write_after && slot.used != plan.step) {
        return fmt::format("slot {} is stored into too early", miss.slot);
      }
      slot = {ids[static_cast<size_t>(miss.position)], plan.step, plan.step};
    }
    if (std::max(plan.read_after, plan.write_after) >= plan.step) return "waits for itself";
    return "";
  }

 private:
  struct Slot {
    int64_t row = -1;
    int64_t stored = kNoStep;
    int64_t used = kNoStep;
  };
  std::vector<Slot> slots_;
};

}  // namespace

PlanTrace PowerLawTrace(const PlanTraceOptions& options) {
  return DrawTrace(options, [&](CounterRng& rng, CounterRng&) {
    const double x = rng.NextDouble();
    return static_cast<int64_t>(x * x * x * static_cast<double>(options.rows));
  });
}

PlanTrace CommunityTrace(const PlanTraceOptions& options) {
  constexpr int64_t kCommunities = 40;
  const int64_t size = options.rows / kCommunities;
  return DrawTrace(options, [&](CounterRng& rng, CounterRng& of_step) {
    if (rng.NextBounded(10) == 0) {
      return static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(options.rows)));
    }
    // One of the step's eight communities.
    const uint64_t which = rng.NextBounded(8);
    for (uint64_t skipped = 0; skipped < which; ++skipped) of_step.Next();
    return static_cast<int64_t>(of_step.NextBounded(kCommunities)) * size +
           static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(size)));
  });
}

std::vector<float> CountReads(const PlanTrace& trace, int64_t rows) {
  std::vector<float> counts(static_cast<size_t>(rows));
  for (const auto& ids : trace) {
    for (const int64_t id : ids) ++counts[static_cast<size_t>(id)];
  }
  return counts;
}

int64_t CountTouched(const PlanTrace& trace, int64_t rows) {
  const std::vector<float> counts = CountReads(trace, rows);
  return std::count_if(counts.begin(), counts.end(), [](float count) { return count > 0; });
}

int64_t FewestMisses(const PlanTrace& trace, int64_t slots) {
  std::map<int64_t, std::queue<size_t>> uses;  // of each row: steps
  for (size_t step = 0; step < trace.size(); ++step) {
    for (const int64_t id : trace[step]) uses[id].push(step);
  }
  std::map<int64_t, size_t> kept;                        // row -> the step that needs it next
  std::priority_queue<std::pair<size_t, int64_t>> heap;  // of kept ones; some are out of date
  int64_t misses = 0;
  for (size_t step = 0; step < trace.size(); ++step) {
    for (const int64_t id : trace[step]) {
      misses += kept.contains(id) ? 0 : 1;
      uses[id].pop();
      const size_t next = uses[id].empty() ? std::numeric_limits<size_t>::max() : uses[id].front();
      kept[id] = next;
      heap.emplace(next, id);
    }
    while (std::ssize(kept) > slots) {
      const auto [next, id] = heap.top();
      heap.pop();
      const auto found = kept.find(id);
      if (found != kept.end() && found->second == next) kept.erase(found);
    }
  }
  return misses;
}

PlannedTrace PlanThrough(Planner& planner, const PlanTrace& trace,
                         const std::function<bool(const Planner&)>& longer) {
  PlannedTrace result;
  SlotReplay replay(planner.slots());
  StepPlan plan;
  for (size_t step = 0; step < trace.size() && result.wrong.empty(); ++step) {
    while (planner.announced() < std::ssize(trace) && longer(planner)) {
      const auto next = static_cast<size_t>(planner.announced());
      const Status status = planner.Announce(planner.announced(), trace[next]);
      if (!status.ok()) return {.wrong = ToString(status)};
    }
    result.longest_window =
        std::max(result.longest_window, planner.announced() - planner.planned());
    const Status status = planner.PlanNext(&plan);
    if (!status.ok()) return {.wrong = ToString(status)};
    result.misses += std::ssize(plan.misses);
    result.evicted += plan.evicted;
    result.open += plan.closed ? 0 : 1;
    result.most_bytes = std::max(result.most_bytes, planner.bytes());
    result.wrong = replay.Check(trace[step], plan);
    if (!result.wrong.empty()) result.wrong = fmt::format("step {}: {}", step, result.wrong);
  }
  return result;
}

bool WholeWindow(const Planner&) { return true; }
bool UntilClosed(const Planner& planner) { return !planner.closed(); }
bool UntilContent(const Planner& planner) { return planner.wants_more(); }
std::function<bool(const Planner&)> WindowOf(int64_t steps) {
  return
      [steps](const Planner& planner) { return planner.announced() - planner.planned() < steps; };
}

}  // namespace halograph
