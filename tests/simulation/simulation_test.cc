// Seeded runs of servers and clients in the simulated machine. By hand:
//   HALOGRAPH_SIM_SEEDS=10000 build/release/bin/simulation_test
//   HALOGRAPH_SIM_SEED=1234 build/release/bin/simulation_test --gtest_filter='*OneSeed*'
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "common/base/sanitizers.h"
#include "tests/simulation/sim_world.h"

namespace halograph::sim {
namespace {

int64_t FromEnvironment(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

struct Totals {
  RunStatistics sum;
  void Add(const RunStatistics& run) {
    sum.calls += run.calls;
    sum.pushes += run.pushes;
    sum.pulls += run.pulls;
    sum.crashes += run.crashes;
    sum.power_losses += run.power_losses;
    sum.crashes_in_recovery += run.crashes_in_recovery;
    sum.restarts += run.restarts;
    sum.disk_faults += run.disk_faults;
    sum.flipped_bits += run.flipped_bits;
    sum.refused_damage += run.refused_damage;
    sum.messages_dropped += run.messages_dropped;
    sum.messages_doubled += run.messages_doubled;
    sum.checkpoints += run.checkpoints;
    sum.snapshots += run.snapshots;
    sum.step_snapshots += run.step_snapshots;
    sum.twins += run.twins;
    sum.lost += run.lost;
    sum.simulated_seconds += run.simulated_seconds;
  }
  void Print(int64_t seeds) const {
    std::printf(
        "%ld seeds: %ld calls, %ld pushes, %ld pulls, %ld crashes (%ld power losses, %ld in "
        "recovery), %ld restarts, %ld disk faults, %ld flipped bits (%ld refused), %ld messages "
        "dropped, %ld doubled, %ld checkpoints, %ld snapshots (%ld of steps), %ld twins, %ld "
        "pushes lost as "
        "allowed, %.0f "
        "simulated seconds\n",
        seeds, sum.calls, sum.pushes, sum.pulls, sum.crashes, sum.power_losses,
        sum.crashes_in_recovery, sum.restarts, sum.disk_faults, sum.flipped_bits,
        sum.refused_damage, sum.messages_dropped, sum.messages_doubled, sum.checkpoints,
        sum.snapshots, sum.step_snapshots, sum.twins, sum.lost, sum.simulated_seconds);
  }
};

constexpr int64_t kSeedsOfACommit = kAddressSanitizer ? 25 : 200;

TEST(SimulationTest, EverySeedKeepsWhatIsPromised) {
  const int64_t seeds = FromEnvironment("HALOGRAPH_SIM_SEEDS", kSeedsOfACommit);
  const int64_t first = FromEnvironment("HALOGRAPH_SIM_FIRST", 0);
  Totals totals;
  int64_t failures = 0;
  for (int64_t seed = first; seed < first + seeds; ++seed) {
    RunStatistics run;
    const std::string wrong = RunPlan(MakePlan(static_cast<uint64_t>(seed)), &run);
    totals.Add(run);
    if (wrong.empty()) continue;
    ADD_FAILURE() << wrong;
    if (++failures >= FromEnvironment("HALOGRAPH_SIM_FAILURES", 1)) break;
  }
  totals.Print(seeds);
  if (failures > 0) return;
  // A run that does nothing proves nothing.
  EXPECT_GE(totals.sum.pushes, 20 * seeds);
  EXPECT_GE(totals.sum.pulls, 5 * seeds);
  EXPECT_GE(totals.sum.crashes, seeds / 2);
  EXPECT_GE(totals.sum.power_losses, seeds / 8);
  EXPECT_GE(totals.sum.crashes_in_recovery, seeds / 40);
  EXPECT_GE(totals.sum.checkpoints, seeds / 4);
  EXPECT_GE(totals.sum.step_snapshots, seeds / 8);
  EXPECT_GE(totals.sum.twins, seeds / 4);
}

// Of the engine and the plans of that day.
TEST(SimulationTest, SeedsThatFailedOncePass) {
  for (const uint64_t seed : {2, 108, 201, 360, 1299, 1746, 2986, 5476, 5866}) {
    RunStatistics run;
    EXPECT_EQ("", RunPlan(MakePlan(seed), &run));
  }
}

TEST(SimulationTest, OneSeedRunsTheSameTwice) {
  const auto seed = static_cast<uint64_t>(FromEnvironment("HALOGRAPH_SIM_SEED", 5));
  RunStatistics first;
  RunStatistics second;
  ASSERT_EQ("", RunPlan(MakePlan(seed), &first));
  ASSERT_EQ("", RunPlan(MakePlan(seed), &second));
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_EQ(first.calls, second.calls);
}

}  // namespace
}  // namespace halograph::sim
