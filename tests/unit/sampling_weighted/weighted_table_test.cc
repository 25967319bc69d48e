// Alias tables: against the oracle's, and against the weights they are of.
#include "common/sampling/weighted_table.h"

#include <gtest/gtest.h>

#include "tests/unit/sampling_weighted/weighted_node.h"

namespace halograph {
namespace {

void ExpectTable(const Json& golden, const WeightedRow& row) {
  SCOPED_TRACE(golden.at("name"));
  EXPECT_EQ(row.drawable, golden.at("drawable"));
  const std::vector<double> weights = WeightsFromBits(golden.at("weights"));
  for (size_t i = 0; i < weights.size(); ++i) {
    const AliasEntry expected{.threshold = golden.at("thresholds")[i],
                              .alias = golden.at("aliases")[i]};
    EXPECT_EQ(row.entries[i], expected) << "position " << i;
    EXPECT_EQ(row.weights[i], weights[i]) << "position " << i;
  }
  const Json& heavy = golden.at("heavy");
  ASSERT_EQ(row.heavy != nullptr, !heavy.empty());
  if (heavy.empty()) return;
  ASSERT_EQ(heavy.size(), static_cast<size_t>(kHeavyEdges));
  EXPECT_EQ(std::vector{row.heavy->rest}, WeightsFromBits(Json::array({golden.at("rest")})));
  for (size_t i = 0; i < kHeavyEdges; ++i) {
    EXPECT_EQ(row.heavy->positions[i], heavy[i]);
    EXPECT_EQ(row.heavy->weights[i], weights[row.heavy->positions[i]]);
  }
}

TEST(WeightTableBuilderTest, TablesAreGolden) {
  const auto golden = LoadGoldenWeighted();
  ASSERT_TRUE(golden.ok()) << golden.status();
  ASSERT_GE(golden->at("tables").size(), 15U);
  int64_t edges = 0;
  for (const Json& row : golden->at("tables")) edges += std::ssize(row.at("weights"));
  // One after the other in one segment: what is left of one node must not reach the next.
  WeightTableMemory memory(std::ssize(golden->at("tables")), edges);
  WeightTableBuilder builder;
  int64_t node = 0;
  int64_t begin = 0;
  for (const Json& row : golden->at("tables")) {
    const std::vector<double> weights = WeightsFromBits(row.at("weights"));
    builder.Build(weights, node++, begin, memory.room());
    begin += std::ssize(weights);
  }
  node = begin = 0;
  for (const Json& row : golden->at("tables")) {
    ExpectTable(row,
                WeightedRow::Of(memory.room().view(), node++, begin, row.at("weights").size()));
    begin += std::ssize(row.at("weights"));
  }
}

// The chance of each edge, as the tables give it, by slots of the alias table; exact where edges
// are set apart.
std::vector<double> SharesOf(const WeightedNode& node) {
  const std::vector<AliasEntry>& entries = node.entries();
  std::vector<double> shares(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const double own = entries[i].alias == i ? 1.0 : entries[i].threshold * 0x1p-32;
    shares[i] += own;
    shares[entries[i].alias] += 1.0 - own;
  }
  if (node.heavy() == nullptr) return shares;
  const double sum = SumOfWeights(node.heavy()->weights) + node.heavy()->rest;
  for (double& share : shares) share *= node.heavy()->rest / sum;
  for (size_t i = 0; i < kHeavyEdges; ++i) {
    shares[node.heavy()->positions[i]] +=
        node.heavy()->weights[i] / sum * static_cast<double>(entries.size());
  }
  return shares;
}

TEST(WeightTableBuilderTest, EveryEdgeHasItsShareToThirtyTwoBits) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const auto degree = static_cast<int64_t>(1 + Bounded(Mix(seed + 7), 300));
    const double power = static_cast<double>(seed % 5) * 6 - 12;  // to 10^36 between two edges
    const std::vector<double> weights = HeavyTail(seed, degree, power, seed % 2 == 1);
    const double sum = SumOfWeights(weights);
    if (sum == 0) continue;
    const std::vector<double> shares = SharesOf(WeightedNode(weights));
    for (int64_t i = 0; i < degree; ++i) {
      // An edge is the alias of at most all others: each rounds by less than 2^-32.
      EXPECT_NEAR(shares[i], weights[i] / sum * static_cast<double>(degree),
                  static_cast<double>(degree) * 0x1p-32)
          << "seed " << seed << ", position " << i;
    }
  }
}

TEST(WeightTableBuilderTest, NoDrawCanGiveAnEdgeOfWeightZero) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const auto degree = static_cast<int64_t>(1 + Bounded(Mix(seed + 9), 100));
    const std::vector<double> weights = HeavyTail(seed, degree, -8, true);
    const WeightedNode node(weights);
    if (node.row().drawable == 0) continue;
    if (node.heavy() != nullptr && node.heavy()->rest == 0) continue;  // no alias draws
    for (size_t i = 0; i < weights.size(); ++i) {
      const AliasEntry& entry = node.entries()[i];
      EXPECT_GT(weights[entry.alias], 0) << "seed " << seed << ", position " << i;
      if (weights[i] == 0) {
        EXPECT_EQ(entry.threshold, 0U) << "seed " << seed << ", position " << i;
      }
    }
  }
}

TEST(WeightTableBuilderTest, HeaviestAreSetApartFromHalfOfTheSumOn) {
  for (const size_t degree : {63U, 70U, 1000U}) {
    std::vector<double> weights(degree, 1.0);
    for (size_t i = 0; i < 10; ++i) weights[i * 6 + 1] = static_cast<double>(degree - 10) / 10;
    EXPECT_EQ(WeightedNode(weights).heavy() != nullptr, degree >= 64) << degree;
    weights[0] = 1.5;  // the rest is more now
    EXPECT_EQ(WeightedNode(weights).heavy(), nullptr) << degree;
    weights[7] += 1;
    EXPECT_EQ(WeightedNode(weights).heavy() != nullptr, degree >= 64) << degree;
  }
}

TEST(WeightTableBuilderTest, RecordsOfNeighboursDoNotMeet) {
  CounterRng rng(Mix(5));
  std::vector<std::vector<double>> nodes;
  int64_t edges = 0;
  for (int v = 0; v < 300; ++v) {
    const auto degree = static_cast<int64_t>(rng.NextBounded(v % 3 == 0 ? 66 : 200));
    nodes.push_back(HeavyTail(static_cast<uint64_t>(v), degree, -4, true));
    edges += degree;
  }
  WeightTableMemory memory(std::ssize(nodes), edges);
  WeightTableBuilder builder;
  int64_t begin = 0;
  for (size_t v = 0; v < nodes.size(); ++v) {
    builder.Build(nodes[v], static_cast<int64_t>(v), begin, memory.room());
    begin += std::ssize(nodes[v]);
  }
  begin = 0;
  int apart = 0;
  for (size_t v = 0; v < nodes.size(); ++v) {
    const WeightedNode alone(nodes[v]);
    const WeightedRow row =
        WeightedRow::Of(memory.room().view(), static_cast<int64_t>(v), begin, std::ssize(nodes[v]));
    ASSERT_EQ(row.heavy != nullptr, alone.heavy() != nullptr) << v;
    if (row.heavy != nullptr) {
      EXPECT_EQ(*row.heavy, *alone.heavy()) << v;
      ++apart;
    }
    begin += std::ssize(nodes[v]);
  }
  EXPECT_GT(apart, 100);
}

}  // namespace
}  // namespace halograph
