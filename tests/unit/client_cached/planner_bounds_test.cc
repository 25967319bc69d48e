// What planning takes, and what happens when numbers and tables go round or grow.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "client/cached/planner.h"
#include "tests/unit/client_cached/plan_traces.h"

namespace halograph {
namespace {

std::unique_ptr<Planner> Make(LookAheadOptions options) {
  auto planner = MakeLookAheadPlanner(std::move(options));
  EXPECT_TRUE(planner.ok()) << planner.status();
  return *std::move(planner);
}

// A space that is much larger than the cache: the table is hashed.
constexpr PlanTraceOptions kLarge = {.seed = 3, .rows = 200'000, .steps = 40, .reads = 8'000};
constexpr int64_t kLargeSlots = 8'000;

TEST(PlannerMemoryTest, AWindowThatWantsMoreEndsWhereItsMemoryDoes) {
  const PlanTrace trace = PowerLawTrace(kLarge);
  const auto planner = Make({.rows = kLarge.rows, .slots = kLargeSlots});
  const PlannedTrace planned = PlanThrough(*planner, trace, UntilContent);
  EXPECT_EQ(planned.wrong, "");
  EXPECT_GT(planned.longest_window, 3);
  EXPECT_LT(planned.longest_window, kLarge.steps);
  // The step that filled it is in it.
  EXPECT_LE(planned.most_bytes,
            kLargeSlots * static_cast<int64_t>(kPlanBytesASlot) + 20 * kLarge.reads);
  EXPECT_EQ(planner->table_bytes(), 0);
  const auto blind = Make({.rows = kLarge.rows, .slots = kLargeSlots});
  EXPECT_LT(planned.misses, PlanThrough(*blind, trace, WindowOf(1)).misses);
}

TEST(PlannerMemoryTest, AWindowThatWasLongGivesItsMemoryBack) {
  const PlanTrace trace = PowerLawTrace(kLarge);
  for (const LastUseTable table : {LastUseTable::kDense, LastUseTable::kHashed}) {
    const auto planner = Make({.rows = kLarge.rows, .slots = 500, .table = table});
    StepPlan plan;
    ASSERT_TRUE(planner->Announce(0, trace[0]).ok());
    ASSERT_TRUE(planner->PlanNext(&plan).ok());
    const int64_t before = planner->bytes();
    for (size_t step = 1; step < trace.size(); ++step) {
      ASSERT_TRUE(planner->Announce(static_cast<int64_t>(step), trace[step]).ok());
    }
    EXPECT_GT(planner->bytes(), before + 1'000'000);
    while (planner->planned() < planner->announced()) ASSERT_TRUE(planner->PlanNext(&plan).ok());
    // Less than a row and an access of a step more.
    EXPECT_LT(planner->bytes(), before + 400'000);
  }
}

TEST(PlannerMemoryTest, BothTablesGiveTheSamePlans) {
  const PlanTrace trace = CommunityTrace({.seed = 5, .rows = 4000, .steps = 60, .reads = 200});
  const auto dense = Make({.rows = 4000, .slots = 300, .table = LastUseTable::kDense});
  const auto hashed = Make({.rows = 4000, .slots = 300, .table = LastUseTable::kHashed});
  StepPlan plan;
  StepPlan expected;
  for (size_t step = 0; step < trace.size(); ++step) {
    const auto number = static_cast<int64_t>(step);
    ASSERT_TRUE(dense->Announce(number, trace[step]).ok());
    ASSERT_TRUE(hashed->Announce(number, trace[step]).ok());
    if (step < 4) continue;
    ASSERT_TRUE(dense->PlanNext(&expected).ok());
    ASSERT_TRUE(hashed->PlanNext(&plan).ok());
    ASSERT_EQ(plan.slots, expected.slots) << step;
    ASSERT_EQ(plan.misses, expected.misses) << step;
  }
}

// A step has whole pages of access numbers, so that as many steps as there are pages, and some
// more, go round all of them.
TEST(PlannerNumbersTest, AccessNumbersGoRound) {
  constexpr int64_t kSteps = (int64_t{1} << 31) / kPageAccesses + 5000;
  for (const LastUseTable table : {LastUseTable::kDense, LastUseTable::kHashed}) {
    const auto planner = Make({.rows = 12, .slots = 4, .table = table});
    StepPlan plan;
    int64_t misses = 0;
    for (int64_t step = 0; step < kSteps + 3; ++step) {
      if (step < kSteps) {
        const std::vector<int64_t> ids = {step % 2, 2 + step % 3, 5 + step % 7};
        ASSERT_TRUE(planner->Announce(step, ids).ok());
      }
      if (step < 3) continue;
      ASSERT_TRUE(planner->PlanNext(&plan).ok());
      ASSERT_EQ(plan.step, step - 3);
      // Of the first two kinds nothing is fetched again: their four or five rows come soonest.
      misses += std::ssize(plan.misses);
      ASSERT_GE(plan.misses.size(), step == 3 ? 3U : 0U);
      ASSERT_LE(plan.misses.size(), 3U);
    }
    // Two rows come back after two steps, three after three; seven after seven, beyond the window.
    EXPECT_LT(misses, kSteps * 2);
  }
}

TEST(PlannerNumbersTest, AWindowHasABound) {
  const auto planner = Make({.rows = 4, .slots = 2});
  int64_t step = 0;
  const std::vector<int64_t> ids = {1};
  while (step < kMostWindowPages) ASSERT_TRUE(planner->Announce(step++, ids).ok());
  EXPECT_EQ(planner->Announce(step, ids).code(), absl::StatusCode::kResourceExhausted);
  StepPlan plan;
  ASSERT_TRUE(planner->PlanNext(&plan).ok());
  EXPECT_TRUE(planner->Announce(step, ids).ok());
}

}  // namespace
}  // namespace halograph
