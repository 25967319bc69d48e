#include "partitioner/write/writing_plan.h"

#include <gmock/gmock.h>

#include "common/base/rng.h"

namespace halograph {
namespace {

GraphCounts CountsOf(std::vector<int64_t> nodes, std::vector<RelationCounts> relations) {
  GraphCounts counts;
  counts.nodes = std::move(nodes);
  counts.relations = std::move(relations);
  return counts;
}

GraphCounts RandomCounts(uint64_t seed) {
  CounterRng rng(seed);
  const auto size = [&](int bits) {
    return static_cast<int64_t>(rng.NextBounded(uint64_t{1} << rng.NextBounded(bits)));
  };
  GraphCounts counts;
  const int types = 1 + static_cast<int>(rng.NextBounded(3));
  for (int t = 0; t < types; ++t) counts.nodes.push_back(1 + size(28));
  const int relations = 1 + static_cast<int>(rng.NextBounded(20));
  for (int r = 0; r < relations; ++r) {
    counts.relations.push_back({.source_type = static_cast<int>(rng.NextBounded(types)),
                                .destination_type = static_cast<int>(rng.NextBounded(types)),
                                .edges = size(32)});
  }
  return counts;
}

TEST(WritingPlanTest, WhatIsAdvisedWorksAndMoreNeverTakesMoreThanIsGiven) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const GraphCounts counts = RandomCounts(seed);
    for (const int parts : {1, 8, 4096}) {
      const int64_t least = kProgramBytes + PlanWriting(counts, 1 << 20, parts).peak_bytes();
      for (const int64_t memory : {least, least + 1, least + least / 3, 2 * least, 20 * least}) {
        const MemoryPlan plan = PlanWriting(counts, memory, parts);
        EXPECT_TRUE(CheckMemory(plan, memory).ok())
            << "seed " << seed << ", " << parts << " parts, " << memory << "\n"
            << plan.ToText();
      }
      EXPECT_FALSE(CheckMemory(PlanWriting(counts, 1 << 20, parts), 1 << 20).ok());
    }
  }
}

// papers100M's size in 8 GiB, and in less.
TEST(WritingPlanTest, BillionsOfEdgesFitALittleMoreThanTheirNodes) {
  const GraphCounts counts =
      CountsOf({111059956}, {{.source_type = 0, .destination_type = 0, .edges = 1615685872}});
  const WritingBudget budget = BudgetWriting(counts, int64_t{8} << 30, 8);
  EXPECT_FALSE(budget.in_memory);
  EXPECT_EQ(BucketFileBytes(counts, budget), 12 * counts.num_edges());
  EXPECT_LE(PlanWriting(counts, int64_t{8} << 30, 8).peak_bytes(), int64_t{1} << 30);
  EXPECT_LE(PlanWriting(counts, 0, 8).peak_bytes(), 6 * counts.num_nodes() + (int64_t{128} << 20));
  EXPECT_TRUE(BudgetWriting(counts, int64_t{64} << 30, 8).in_memory);
}

TEST(WritingPlanTest, SmallGraphsWaitInMemory) {
  const GraphCounts counts =
      CountsOf({2708}, {{.source_type = 0, .destination_type = 0, .edges = 10556}});
  EXPECT_TRUE(BudgetWriting(counts, int64_t{64} << 20, 2).in_memory);
  EXPECT_EQ(BudgetWriting(counts, int64_t{64} << 20, 2).BucketWidth(2708, 10556), 2708);
}

TEST(WritingBudgetTest, WidthGoesByTheDensityAndIsBounded) {
  const WritingBudget budget{
      .in_memory = false, .bucket_edges = 1000, .sort_edges = 2000, .buffer_bytes = 0};
  EXPECT_EQ(budget.BucketWidth(10000, 100000), 100);
  EXPECT_EQ(budget.BucketWidth(10000, 10), 1000);
  EXPECT_EQ(budget.BucketWidth(10, 1000000), 1);
  EXPECT_EQ(budget.BucketWidth(0, 0), 1);
}

}  // namespace
}  // namespace halograph
