// Weighted picks of one node: against the oracle's, and what must hold of all of them.
#include "common/sampling/weighted_drawer.h"

#include <algorithm>
#include <bit>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/unit/sampling_weighted/weighted_node.h"

namespace halograph {
namespace {

TEST(WeightedDrawerTest, PicksAreGolden) {
  const auto golden = LoadGoldenWeighted();
  ASSERT_TRUE(golden.ok()) << golden.status();
  std::vector<WeightedNode> nodes;
  for (const Json& table : golden->at("tables")) {
    nodes.emplace_back(WeightsFromBits(table.at("weights")));
  }
  ASSERT_GE(golden->at("picks").size(), 200U);
  for (const Json& row : golden->at("picks")) {
    WeightedNode& node = nodes[row.at("table").get<size_t>()];
    EXPECT_EQ(node.Pick(FromHex(row.at("node_key")), row.at("fanout"), row.at("replace")),
              row.at("positions").get<std::vector<int64_t>>())
        << row;
  }
}

// What holds of any picks: how many, which may be, and that none comes twice without replacement.
void CheckPicks(const std::vector<double>& weights, int32_t fanout, bool replace,
                const std::vector<int64_t>& picks) {
  const auto drawable = static_cast<size_t>(
      std::count_if(weights.begin(), weights.end(), [](double w) { return w > 0; }));
  const bool all = fanout < 0 || (!replace && static_cast<size_t>(fanout) >= drawable);
  ASSERT_EQ(picks.size(), drawable == 0 ? 0 : all ? drawable : static_cast<size_t>(fanout));
  for (const int64_t position : picks) {
    ASSERT_GE(position, 0);
    ASSERT_LT(position, static_cast<int64_t>(weights.size()));
    EXPECT_GT(weights[position], 0) << "position " << position;
  }
  if (all) {
    EXPECT_TRUE(std::is_sorted(picks.begin(), picks.end()));
  }
  if (!replace) {
    EXPECT_EQ(std::set<int64_t>(picks.begin(), picks.end()).size(), picks.size());
  }
}

// Weights of one of several kinds, from equal ones to those that differ by 600 decades.
std::vector<double> RandomWeights(uint64_t seed) {
  CounterRng rng(Mix(seed));
  const auto kind = rng.NextBounded(6);
  const auto degree = static_cast<int64_t>(rng.NextBounded(kind == 5 ? 5000 : 200));
  if (kind == 0) return std::vector<double>(degree, 0.1);
  if (kind == 1) return std::vector<double>(degree, 5e-324);
  std::vector<double> weights = HeavyTail(seed, degree, kind == 2 ? 40.0 : -3.0, kind != 3);
  if (kind == 4) {
    for (double& weight : weights) weight = weight > 0 ? 1e-30 : 0;
    if (degree > 0) weights[rng.NextBounded(degree)] = 1e30;
  }
  if (kind == 2) {  // down to denormal ones
    for (double& weight : weights) weight *= 1e-290;
  }
  return weights;
}

TEST(WeightedDrawerTest, RandomWeightsKeepEveryRule) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const std::vector<double> weights = RandomWeights(seed);
    WeightedNode node(weights);
    CounterRng rng(Mix(seed + 1000000));
    const auto fanout = static_cast<int32_t>(rng.NextBounded(weights.size() + 12)) - 1;
    for (const bool replace : {false, true}) {
      const std::vector<int64_t> picks = node.Pick(rng.Next(), fanout, replace);
      CheckPicks(weights, fanout, replace, picks);
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", " << weights.size() << " edges, fanout "
                                 << fanout << (replace ? ", with" : ", without") << " replacement";
    }
  }
}

TEST(WeightedDrawerTest, OneDominatingWeightStillGivesAllThatIsAsked) {
  std::vector<double> weights(10000, 1e-30);
  weights[777] = 1e30;
  WeightedNode node(weights);
  for (uint64_t key = 0; key < 50; ++key) {
    const std::vector<int64_t> picks = node.Pick(key, 20, false);
    CheckPicks(weights, 20, false, picks);
    EXPECT_EQ(picks.front(), 777);
    EXPECT_EQ(node.Pick(key, 20, true), std::vector<int64_t>(20, 777));
  }
}

// Files opened without a look at their contents may hold anything.
TEST(WeightedDrawerTest, DamagedTablesGivePositionsWithinTheList) {
  CounterRng rng(77);
  WeightedDrawer drawer;
  for (int round = 0; round < 2000; ++round) {
    const auto degree = static_cast<int64_t>(1 + rng.NextBounded(300));
    WeightTableMemory table(1, degree);
    const WeightTableRoom room = table.room();
    for (int64_t i = 0; i < degree; ++i) {
      room.entries[i] = {.threshold = static_cast<uint32_t>(rng.Next()),
                         .alias = static_cast<uint32_t>(rng.Next() >> rng.NextBounded(64))};
      room.weights[i] = std::bit_cast<double>(rng.Next());
    }
    room.drawable[0] = static_cast<uint32_t>(rng.Next() >> rng.NextBounded(64));
    if (degree >= kHeavyDegree) {
      for (double& weight : room.heavy->weights) weight = std::bit_cast<double>(rng.Next());
      for (uint32_t& position : room.heavy->positions) {
        position = static_cast<uint32_t>(rng.Next() >> rng.NextBounded(64));
      }
      room.heavy->rest = round % 4 == 0 ? 0 : std::bit_cast<double>(rng.Next());
    }
    const WeightedRow row = WeightedRow::Of(room.view(), 0, 0, degree);
    ASSERT_LE(row.drawable, degree);
    const auto fanout = static_cast<int32_t>(rng.NextBounded(80)) - 1;
    for (const bool replace : {false, true}) {
      std::vector<int64_t> picks(
          static_cast<size_t>(WeightedPicksOf(row.drawable, fanout, replace)));
      drawer.Draw(rng.Next(), row, fanout, replace, picks);
      for (const int64_t position : picks) {
        ASSERT_GE(position, 0);
        ASSERT_LT(position, degree);
      }
    }
  }
}

TEST(WeightedDrawerTest, PicksDoNotDependOnWhatTheDrawerDrewBefore) {
  const std::vector<double> weights = HeavyTail(3, 3000, -4, true);
  WeightedNode fresh(weights);
  const std::vector<int64_t> expected = fresh.Pick(42, 60, false);
  WeightedNode used(weights);
  for (uint64_t key = 0; key < 20; ++key) (void)used.Pick(key, 100, false);
  EXPECT_EQ(used.Pick(42, 60, false), expected);
}

}  // namespace
}  // namespace halograph
