#include "partitioner/methods/metis/rebalance.h"

#include <gmock/gmock.h>

#include "partitioner/methods/random_method.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Le;

struct Case {
  FoldedGraph graph;
  VertexWeights weights;
};

Case Build(const Dataset& dataset) {
  auto graph = BuildFoldedGraph(dataset, false);
  EXPECT_TRUE(graph.ok()) << graph.status();
  auto weights = BuildVertexWeights(dataset, *graph, {});
  EXPECT_TRUE(weights.ok()) << weights.status();
  return {std::move(graph).value(), std::move(weights).value()};
}

TEST(PartLoadsTest, ExcessIsWhatIsAboveTheBoundInEvenShares) {
  DatasetBuilder builder;
  builder.Nodes("node", 40);
  const Case c = Build(builder.dataset());
  std::vector<int32_t> owners(40, 0);
  for (size_t i = 30; i < 40; ++i) owners[i] = 1;  // 30 and 10; a share is 20, the bound 21
  PartLoads loads(c.weights, owners, 2);
  EXPECT_DOUBLE_EQ(loads.Excess(), 9.0 / 20);
  EXPECT_THAT(loads.Balance(), ElementsAre(1.5));
  EXPECT_EQ(loads.Emptiest(0), 1);
  const double change = loads.ExcessChange(c.weights.Row(0), 0, 1);
  EXPECT_DOUBLE_EQ(change, -1.0 / 20);
  loads.Move(c.weights.Row(0), 0, 1);
  EXPECT_DOUBLE_EQ(loads.Excess(), 8.0 / 20);
}

TEST(RebalanceTest, EverythingInOnePartIsSpreadUntilTheBoundsHold) {
  DatasetBuilder builder;
  builder.Nodes("node", 400)
      .Edges("node", "edge", "node", RandomEdges(400, 400, 4000, 9))
      .TaskSet("train", "node", false,
               {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31});
  const Case c = Build(builder.dataset());
  std::vector<int32_t> owners(400, 2);
  PartLoads loads(c.weights, owners, 4);
  EXPECT_GT(loads.Excess(), 1);
  const int64_t moves = Rebalance(c.graph, c.weights, 4, 100, &owners, &loads);
  EXPECT_GE(moves, 280);
  EXPECT_EQ(loads.Excess(), 0);
  EXPECT_EQ(PartLoads(c.weights, owners, 4).Excess(), 0);
  EXPECT_THAT(loads.Balance(), Each(Le(1.12)));
}

TEST(RebalanceTest, MovesTheNodesThatCostLeast) {
  // Rings 0, 1 and a tail of ring 2 are in part 0, the rest of ring 2 in part 1: the tail moves.
  DatasetBuilder builder;
  builder.Nodes("node", 90).Edges("node", "edge", "node", RingsOfNodes(3, 30));
  const Case c = Build(builder.dataset());
  std::vector<int32_t> owners(90, 0);
  for (size_t i = 45; i < 90; ++i) owners[i] = 1;
  std::vector<int32_t> tilted = owners;
  for (size_t i = 45; i < 52; ++i) tilted[i] = 0;
  PartLoads loads(c.weights, tilted, 2);
  Rebalance(c.graph, c.weights, 2, 100, &tilted, &loads);
  EXPECT_EQ(loads.Excess(), 0);
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(tilted[i], 0) << "node " << i << " is far from the cut";
}

TEST(RebalanceTest, WhatCannotBeBalancedEndsWithoutMoves) {
  EdgePairs star;
  for (int64_t i = 1; i < 100; ++i) star.emplace_back(i, 0);
  DatasetBuilder builder;  // all in-edges at one node: no share of them can be even
  builder.Nodes("node", 100).Edges("node", "edge", "node", star);
  const Case c = Build(builder.dataset());
  const std::vector<uint16_t> dealt = DealOwners(100, 4, 1);
  std::vector<int32_t> owners(dealt.begin(), dealt.end());
  PartLoads loads(c.weights, owners, 4);
  EXPECT_EQ(Rebalance(c.graph, c.weights, 4, 1000, &owners, &loads), 0);
  EXPECT_GT(loads.Excess(), 0);
}

}  // namespace
}  // namespace halograph
