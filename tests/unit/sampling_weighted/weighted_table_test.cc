// Alias tables: against the oracle's, and against the weights they are of.
#include "common/sampling/weighted_table.h"

#include <gtest/gtest.h>

#include "tests/unit/sampling_weighted/weighted_node.h"

namespace halograph {
namespace {

TEST(AliasTableBuilderTest, TablesAreGolden) {
  const auto golden = LoadGoldenWeighted();
  ASSERT_TRUE(golden.ok()) << golden.status();
  AliasTableBuilder builder;  // one for all: what is left of one node must not reach the next
  ASSERT_GE(golden->at("tables").size(), 15U);
  for (const Json& row : golden->at("tables")) {
    const std::vector<double> weights = WeightsFromBits(row.at("weights"));
    std::vector<AliasEntry> entries(weights.size());
    EXPECT_EQ(builder.Build(weights, entries.data()), row.at("drawable")) << row.at("name");
    for (size_t i = 0; i < weights.size(); ++i) {
      const AliasEntry expected{.threshold = row.at("thresholds")[i],
                                .alias = row.at("aliases")[i],
                                .weight = weights[i]};
      EXPECT_EQ(entries[i], expected) << row.at("name") << ", position " << i;
    }
  }
}

// The chance of each edge, as the table gives it, in units of one slot.
std::vector<double> SharesOf(const std::vector<AliasEntry>& entries) {
  std::vector<double> shares(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const double own = entries[i].alias == i ? 1.0 : entries[i].threshold * 0x1p-32;
    shares[i] += own;
    shares[entries[i].alias] += 1.0 - own;
  }
  return shares;
}

TEST(AliasTableBuilderTest, EveryEdgeHasItsShareToThirtyTwoBits) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto degree = static_cast<int64_t>(1 + Bounded(Mix(seed + 7), 300));
    const double power = static_cast<double>(seed % 5) * 6 - 12;  // to 10^36 between two edges
    const std::vector<double> weights = HeavyTail(seed, degree, power, seed % 2 == 1);
    const double sum = SumOfWeights(weights);
    if (sum == 0) continue;
    const std::vector<double> shares = SharesOf(WeightedNode(weights).entries());
    for (int64_t i = 0; i < degree; ++i) {
      // An edge is the alias of at most all others: each rounds by less than 2^-32.
      EXPECT_NEAR(shares[i], weights[i] / sum * static_cast<double>(degree),
                  static_cast<double>(degree) * 0x1p-32)
          << "seed " << seed << ", position " << i;
    }
  }
}

TEST(AliasTableBuilderTest, NoDrawCanGiveAnEdgeOfWeightZero) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto degree = static_cast<int64_t>(1 + Bounded(Mix(seed + 9), 100));
    const std::vector<double> weights = HeavyTail(seed, degree, -8, true);
    const WeightedNode node(weights);
    if (node.row().drawable == 0) continue;
    for (size_t i = 0; i < weights.size(); ++i) {
      const AliasEntry& entry = node.entries()[i];
      EXPECT_GT(weights[entry.alias], 0) << "seed " << seed << ", position " << i;
      if (weights[i] == 0) {
        EXPECT_EQ(entry.threshold, 0U) << "seed " << seed << ", position " << i;
      }
    }
  }
}

}  // namespace
}  // namespace halograph
