#include <utility>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "partitioner/methods/degrees.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

constexpr int64_t kNodes = 3 * EndCounter::kRangeNodes;

NodeArray<NodeDegree> NoDegrees(int64_t nodes) {
  auto degrees = NodeArray<NodeDegree>::Make(nodes, "degrees");
  EXPECT_TRUE(degrees.ok()) << degrees.status();
  return std::move(degrees).value();
}

EndCounter CounterInto(NodeArray<NodeDegree>* degrees) {
  auto counter = EndCounter::Make(degrees);
  EXPECT_TRUE(counter.ok()) << counter.status();
  return std::move(counter).value();
}

// More than wait of one range, so that it is counted in between.
TEST(EndCounterTest, EveryEndCountsOnceWhereverItsNodeLies) {
  NodeArray<NodeDegree> degrees = NoDegrees(kNodes), wanted = NoDegrees(kNodes);
  EndCounter counter = CounterInto(&degrees);
  CounterRng rng(7);
  for (int i = 0; i < 700'000; ++i) {
    const bool hub = rng.NextBounded(10) == 0;
    const auto node =
        static_cast<int64_t>(hub ? 300'000 : rng.NextBounded(static_cast<uint64_t>(kNodes)));
    ++wanted[node].total;
    if (rng.NextBounded(2) == 0) {
      counter.AddSource(node);
    } else {
      counter.AddDestination(node);
      ++wanted[node].in;
    }
  }
  counter.Finish();
  for (int64_t v = 0; v < kNodes; ++v) {
    ASSERT_EQ(degrees[v].in, wanted[v].in) << v;
    ASSERT_EQ(degrees[v].total, wanted[v].total) << v;
  }
}

TEST(EndCounterTest, NeighboursOnBothSidesOfABorder) {
  NodeArray<NodeDegree> degrees = NoDegrees(kNodes);
  EndCounter counter = CounterInto(&degrees);
  const int64_t border = EndCounter::kRangeNodes;
  for (const int64_t node : {int64_t{0}, border - 1, border, kNodes - 1}) {
    counter.AddDestination(node);
    counter.AddSource(node);
  }
  counter.Finish();
  for (const int64_t node : {int64_t{0}, border - 1, border, kNodes - 1}) {
    EXPECT_EQ(degrees[node].in, 1) << node;
    EXPECT_EQ(degrees[node].total, 2) << node;
  }
  EXPECT_EQ(degrees[1].total + degrees[border + 1].total + degrees[border - 2].total, 0);
}

TEST(EndCounterTest, CountsStopAtTheLargest) {
  NodeArray<NodeDegree> degrees = NoDegrees(8);
  degrees[5] = {.in = 3, .total = kMaxDegree - 1};
  degrees[6] = {.in = kMaxDegree, .total = 4};
  EndCounter counter = CounterInto(&degrees);
  for (int i = 0; i < 3; ++i) {
    counter.AddDestination(5);
    counter.AddDestination(6);
  }
  counter.Finish();
  EXPECT_EQ(degrees[5].in, 6);
  EXPECT_EQ(degrees[5].total, kMaxDegree);
  EXPECT_EQ(degrees[6].in, kMaxDegree);
  EXPECT_EQ(degrees[6].total, 7);
}

TEST(CountDegreesTest, SelfLoopsAreNoEndsOrTwo) {
  DatasetBuilder builder;
  builder.Nodes("node", 3).Edges("node", "edge", "node", {{0, 1}, {2, 2}});
  for (const auto& [loops, ends] : {std::pair{SelfLoops::kIgnored, 0}, {SelfLoops::kTwoEnds, 2}}) {
    const auto degrees = CountDegrees(builder.dataset(), loops);
    ASSERT_TRUE(degrees.ok()) << degrees.status();
    EXPECT_EQ(degrees->of[2].in, 1);
    EXPECT_EQ(degrees->of[2].total, ends);
    EXPECT_EQ(degrees->volume, 2 + ends);
  }
}

TEST(EndCounterTest, NoNodes) {
  NodeArray<NodeDegree> degrees = NoDegrees(0);
  CounterInto(&degrees).Finish();
}

}  // namespace
}  // namespace halograph
