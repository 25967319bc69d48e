// How many rows plans fetch, beside the fewest that any cache can do with.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "client/cached/planner.h"
#include "tests/unit/client_cached/plan_traces.h"

namespace halograph {
namespace {

constexpr PlanTraceOptions kTrace = {.seed = 7, .rows = 4000, .steps = 80, .reads = 300};

struct OptimumCase {
  bool communities;
  LastUseTable table;
  double share;  // of the touched rows that fit
};

class PlannerOptimumTest : public testing::TestWithParam<OptimumCase> {
 protected:
  PlannerOptimumTest()
      : trace_(GetParam().communities ? CommunityTrace(kTrace) : PowerLawTrace(kTrace)),
        slots_(static_cast<int64_t>(static_cast<double>(CountTouched(trace_, kTrace.rows)) *
                                    GetParam().share)) {}

  std::unique_ptr<Planner> Make() const {
    auto planner = MakeLookAheadPlanner({.rows = kTrace.rows,
                                         .slots = slots_,
                                         .classes = RankClasses(CountReads(trace_, kTrace.rows)),
                                         .table = GetParam().table});
    EXPECT_TRUE(planner.ok()) << planner.status();
    return *std::move(planner);
  }

  const PlanTrace trace_;
  const int64_t slots_;
};

TEST_P(PlannerOptimumTest, AWindowOfTheWholeTraceFetchesTheFewestRows) {
  const PlannedTrace planned = PlanThrough(*Make(), trace_, WholeWindow);
  EXPECT_EQ(planned.wrong, "");
  EXPECT_EQ(planned.misses, FewestMisses(trace_, slots_));
  EXPECT_GT(planned.evicted, 0);
}

TEST_P(PlannerOptimumTest, AClosedWindowFetchesTheFewestRows) {
  const PlannedTrace planned = PlanThrough(*Make(), trace_, UntilClosed);
  EXPECT_EQ(planned.wrong, "");
  EXPECT_EQ(planned.misses, FewestMisses(trace_, slots_));
  // But for the end of the trace, where nothing can be announced any more.
  EXPECT_LE(planned.open, planned.longest_window);
  EXPECT_LT(planned.longest_window, kTrace.steps) << "no window, but the whole trace";
}

TEST_P(PlannerOptimumTest, HalfTheWindowFetchesLittleMore) {
  const int64_t window = PlanThrough(*Make(), trace_, UntilClosed).longest_window;
  const PlannedTrace planned = PlanThrough(*Make(), trace_, WindowOf((window + 1) / 2));
  EXPECT_EQ(planned.wrong, "");
  EXPECT_GE(planned.misses, FewestMisses(trace_, slots_));
  EXPECT_LE(static_cast<double>(planned.misses),
            1.15 * static_cast<double>(FewestMisses(trace_, slots_)));
}

TEST_P(PlannerOptimumTest, TheShortestWindowKeepsSlotsRight) {
  const PlannedTrace planned = PlanThrough(*Make(), trace_, WindowOf(1));
  EXPECT_EQ(planned.wrong, "");
  EXPECT_GE(planned.misses, FewestMisses(trace_, slots_));
}

INSTANTIATE_TEST_SUITE_P(Traces, PlannerOptimumTest,
                         testing::Values(OptimumCase{false, LastUseTable::kDense, 0.1},
                                         OptimumCase{false, LastUseTable::kHashed, 0.2},
                                         OptimumCase{true, LastUseTable::kDense, 0.2},
                                         OptimumCase{true, LastUseTable::kHashed, 0.1}),
                         [](const auto& made) {
                           return std::string(made.param.communities ? "Communities" : "PowerLaw") +
                                  (made.param.table == LastUseTable::kDense ? "Dense" : "Hashed") +
                                  std::to_string(static_cast<int>(100 * made.param.share));
                         });

// The oracle itself, by a case that can be followed by hand: two slots.
TEST(FewestMissesTest, MayLeaveOutWhatIsNeededLast) {
  // 0 and 1 stay, 2 and 3 pass; then 2 comes in for 1, which nothing needs any more.
  EXPECT_EQ(FewestMisses({{0, 1}, {2}, {0, 1}, {3}, {0}, {2}, {0, 2}}, 2), 5);
}

TEST(StaticPlannerTest, FetchesEachChosenRowOnce) {
  const PlanTrace trace = PowerLawTrace(kTrace);
  const std::vector<float> counts = CountReads(trace, kTrace.rows);
  const auto planner = MakeStaticPlanner(counts, 300);
  ASSERT_TRUE(planner.ok()) << planner.status();
  const PlannedTrace planned = PlanThrough(**planner, trace, WindowOf(3));
  EXPECT_EQ(planned.wrong, "");
  EXPECT_EQ(planned.evicted, 0);
  // All reads but those of the 300 rows that are read most, which come once.
  std::vector<float> most = counts;
  std::sort(most.rbegin(), most.rend());
  int64_t expected = 300;
  for (size_t i = 300; i < most.size(); ++i) expected += static_cast<int64_t>(most[i]);
  EXPECT_EQ(planned.misses, expected);
}

}  // namespace
}  // namespace halograph
