#include "trainer/inference/layer_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_graph.h"
#include "trainer/inference/chunk_feed.h"

namespace halograph {
namespace {

using testing::ElementsAre;

constexpr int32_t kAll = kFullNeighborhood;

// Relations, in the schema's order: author:writes:paper, paper:cites:paper,
// paper:written-by:author, venue:publishes:paper; types: author, paper, venue.
class LayerPlanTest : public testing::Test {
 protected:
  SamplingSpec Spec(const std::vector<std::vector<int32_t>>& fanouts) const {
    SamplingSpec spec = SamplingSpec::Uniform(schema_, std::vector<int32_t>(fanouts.size(), 1));
    for (size_t l = 0; l < fanouts.size(); ++l) {
      for (size_t r = 0; r < fanouts[l].size(); ++r) {
        spec.layers[l][r].rule = {.fanout = fanouts[l][r], .replace = true, .weight = 0};
      }
    }
    return spec;
  }
  static std::vector<int32_t> FanoutsOf(const ExactLayer& layer) {
    std::vector<int32_t> fanouts;
    for (const RelationRule& one : layer.sampling.layers.at(0)) {
      fanouts.push_back(one.rule.fanout);
    }
    return fanouts;
  }

  const Schema schema_ = TestSchema(RandomTypedGraph({}));
};

TEST_F(LayerPlanTest, LayersGoFromTheInputsOnAndDrawAllThatEvaluationDrawsSomeOf) {
  const auto layers =
      PlanLayers(schema_, Spec({{5, 0, 5, 3}, {2, 2, 0, 0}}), std::vector{1}, true, false);
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_THAT(FanoutsOf(layers[0]), ElementsAre(kAll, kAll, 0, 0));
  EXPECT_THAT(FanoutsOf(layers[1]), ElementsAre(kAll, 0, kAll, kAll));
  const RelationRule& uniform = layers[0].sampling.layers.at(0).at(0);
  EXPECT_EQ(uniform, Neighbors(0, kAll));
  const auto weighted = PlanLayers(schema_, Spec({{1, 1, 1, 1}}), std::vector{1}, true, true);
  EXPECT_EQ(weighted[0].sampling.layers.at(0).at(0).rule.weight, 0);
}

TEST_F(LayerPlanTest, RowsAreMadeOfTheTypesThatTheNextLayerReads) {
  const auto layers = PlanLayers(schema_, Spec({{0, 0, 1, 0}, {0, 0, 0, 1}, {1, 1, 1, 1}}),
                                 std::vector{0}, true, false);
  // Authors are made of papers, these of venues too.
  EXPECT_THAT(layers[2].types, ElementsAre(true, false, false));
  EXPECT_THAT(layers[1].types, ElementsAre(true, true, false));
  EXPECT_THAT(layers[0].types, ElementsAre(true, true, true));
}

TEST_F(LayerPlanTest, ALastLayerWithoutBlocksReadsNoOtherType) {
  const auto layers =
      PlanLayers(schema_, Spec({{1, 1, 1, 1}, {1, 1, 1, 1}}), std::vector{0}, false, false);
  EXPECT_THAT(FanoutsOf(layers[1]), ElementsAre());
  EXPECT_THAT(layers[0].types, ElementsAre(true, false, false));
}

TEST_F(LayerPlanTest, ChunksAreOfAsManyNodesAsMemoryAllowsAndOneAtLeast) {
  const ChunkCost cost = ChunkCost::Of(100, 10, InputRows::kNodes, false);
  const int64_t some = NodesOfChunk(cost, 3, 1 << 20, 1 << 30);
  EXPECT_GT(some, 1);
  EXPECT_NEAR(static_cast<double>(NodesOfChunk(cost, 3, 1 << 24, 1 << 30)), 16.0 * some, 16);
  EXPECT_LT(NodesOfChunk(cost, 30, 1 << 20, 1 << 30), some);
  EXPECT_EQ(NodesOfChunk(cost, 3, 1, 1 << 30), 1);
  EXPECT_EQ(NodesOfChunk(cost, 3, 1 << 20, 5), 5);
  EXPECT_EQ(NodesOfChunk(cost, 3, 1 << 20, 0), 1);
  Minibatch minibatch;
  minibatch.layers = {{{}, {2, 1}, {3, 4}}};
  minibatch.nodes = {{1, 2, 3}, {1, 2, 3, 4}};
  minibatch.sampled_edges = 9;
  EXPECT_EQ(cost.Bytes(minibatch), 3 * cost.destination + 7 * cost.source + 9 * cost.edge);
}

}  // namespace
}  // namespace halograph
