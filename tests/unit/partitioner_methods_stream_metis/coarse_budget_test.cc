#include "partitioner/methods/stream_metis/coarse_budget.h"

#include <gmock/gmock.h>

#include "partitioner/methods/stream_metis/stream_metis_method.h"
#include "partitioner/stream/edge_pass.h"

namespace halograph {
namespace {

using testing::HasSubstr;

GraphCounts Counts(int64_t nodes, int64_t edges, bool sets = true) {
  GraphCounts counts;
  counts.nodes = {nodes};
  counts.relations.push_back({.source_type = 0, .destination_type = 0, .edges = edges});
  counts.train = counts.valid = counts.test = sets;
  return counts;
}

MethodOptions Options(int parts, int64_t memory) {
  MethodOptions options;
  options.parts = parts;
  options.memory = memory;
  return options;
}

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(CoarseBudgetTest, SmallGraphsAreNotClustered) {
  const CoarseBudget budget = ChooseBudget(Counts(36692, 367662), Options(8, 8 * kGiB));
  EXPECT_EQ(budget.clusters, 36692);
  EXPECT_EQ(budget.pairs, 367662);
  EXPECT_EQ(budget.counter_bytes, 8 * 36692);
}

TEST(CoarseBudgetTest, LargestGraphFitsEightGiB) {
  const GraphCounts counts = Counts(111'059'956, 1'615'685'872);
  const MethodOptions options = Options(8, 8 * kGiB);
  const CoarseBudget budget = ChooseBudget(counts, options);
  EXPECT_GE(budget.clusters, 3'000'000);
  EXPECT_LE(budget.clusters, 5'000'000);
  EXPECT_GE(budget.pairs, 30'000'000);
  EXPECT_LE(budget.pairs, 40'000'000);
  const MemoryPlan plan = PlanOfBudget(counts, options, budget);
  EXPECT_TRUE(CheckMemory(plan, options.memory).ok()) << plan.ToText();
}

TEST(CoarseBudgetTest, TwentyEightBytesANodeAndAHundredTenAPair) {
  const GraphCounts counts = Counts(111'059'956, 1'615'685'872);
  const MethodOptions options = Options(8, 100 * kGiB);
  const CoarseBudget budget = ChooseBudget(counts, options);
  EXPECT_EQ(budget.pairs, 40'000'000);
  for (const MemoryPhase& phase : PlanOfBudget(counts, options, budget).phases) {
    const bool coarse = phase.name == "METIS" || phase.name == "coarse graph";
    EXPECT_LE(phase.bytes(),
              28 * counts.num_nodes() + kEdgePassBytes + (coarse ? 110 * budget.pairs : 0))
        << phase.name;
  }
}

TEST(CoarseBudgetTest, AskedForClustersAreTaken) {
  MethodOptions options = Options(4, 8 * kGiB);
  options.stream_metis.clusters = 5000;
  EXPECT_EQ(ChooseBudget(Counts(100'000, 1'000'000), options).clusters, 5000);
  // But enough for METIS to balance, and no more than nodes.
  options.stream_metis.clusters = 10;
  EXPECT_EQ(ChooseBudget(Counts(100'000, 1'000'000), options).clusters, 256);
  options.stream_metis.clusters = 500'000;
  EXPECT_EQ(ChooseBudget(Counts(100'000, 1'000'000), options).clusters, 100'000);
}

TEST(CoarseBudgetTest, NeverOverTheMemoryAboveTheLeast) {
  for (const int64_t nodes : {1, 100, 40'000, 3'000'000, 111'000'000}) {
    for (const int parts : {2, 8, 64, 4096}) {
      const GraphCounts counts = Counts(nodes, 20 * nodes);
      const auto plan = [&](int64_t memory) {
        return StreamMetisMethod().PlanMemory(counts, Options(parts, memory));
      };
      const int64_t least = kProgramBytes + plan(1 << 20).peak_bytes();
      for (const int64_t more : {int64_t{0}, least / 100, least / 3, least, 10 * least}) {
        const Status fits = CheckMemory(plan(least + more), least + more);
        EXPECT_TRUE(fits.ok()) << nodes << " nodes, " << parts << " parts: " << fits;
      }
    }
  }
}

TEST(CoarseBudgetTest, OneMiBIsRefusedWithTheLeastThatWorks) {
  const MemoryPlan plan =
      StreamMetisMethod().PlanMemory(Counts(1'000'000, 16'000'000), Options(8, 1 << 20));
  const Status status = CheckMemory(plan, 1 << 20);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(Message(status),
              HasSubstr(fmt::format("({} bytes)", kProgramBytes + plan.peak_bytes())));
  // Beside the program and the chunks, some ten bytes a node.
  EXPECT_LE(plan.peak_bytes(), 30'000'000 + kEdgePassBytes);
}

TEST(CoarseBudgetTest, ManyPartitionsCountInRanges) {
  const CoarseBudget budget =
      ChooseBudget(Counts(10'000'000, 100'000'000), Options(1024, 4 * kGiB));
  EXPECT_LT(budget.counter_bytes, 4 * kGiB);
  EXPECT_GE(budget.counter_bytes, 10'000'000);
}

}  // namespace
}  // namespace halograph
