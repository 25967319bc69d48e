#include "trainer/pipeline/layer_blocks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_block.h"
#include "trainer/blocks/self_loops.h"

namespace halograph {
namespace {

Schema TwoTypes() {
  return {.graph_name = "g",
          .node_types = {{.name = "a", .count = 50, .features = {}},
                         {.name = "b", .count = 50, .features = {}}},
          .relations = {{"a", "to", "b", 9, {}}, {"b", "to", "b", 9, {}}},
          .tasks = {}};
}

TEST(LayerBlocksTest, BlocksAreGivenBySourceOfTheLayersAskedFor) {
  Minibatch minibatch;
  Block from_a = RandomBlock(1, 4, 7), from_b = RandomBlock(2, 4, 9);
  from_b.relation = 1;
  minibatch.layers = {{{from_a, from_b}, {0, 4}, {7, 9}},
                      {{RandomBlock(3, 9, 30)}, {7, 9}, {30, 9}}};
  const auto nothing =
      *MakeLayerBlocks(TwoTypes(), minibatch, BlockForm::kSampled, BySource::kNone);
  EXPECT_TRUE(nothing.layers.empty());
  const auto all = *MakeLayerBlocks(TwoTypes(), minibatch, BlockForm::kSampled, BySource::kAll);
  EXPECT_EQ(all.layers[1].transposed.size(), 1U);
  const auto made =
      *MakeLayerBlocks(TwoTypes(), minibatch, BlockForm::kSampled, BySource::kAboveFirst);
  ASSERT_EQ(made.layers.size(), 2U);
  ASSERT_EQ(made.layers[0].transposed.size(), 2U);
  EXPECT_TRUE(made.layers[1].transposed.empty());
  for (size_t b = 0; b < 2; ++b) {
    const Block& block = minibatch.layers[0].blocks[b];
    const TransposedBlock& by_source = made.layers[0].transposed[b];
    ASSERT_EQ(std::ssize(by_source.indptr), b == 0 ? 8 : 10);
    std::vector<std::pair<int32_t, int32_t>> wanted, found;
    for (int32_t v = 0; v < 4; ++v) {
      for (int64_t e = block.indptr[v]; e < block.indptr[v + 1]; ++e) {
        wanted.emplace_back(block.indices[e], v);
      }
    }
    std::sort(wanted.begin(), wanted.end());
    for (int32_t u = 0; u + 1 < std::ssize(by_source.indptr); ++u) {
      for (int64_t e = by_source.indptr[u]; e < by_source.indptr[u + 1]; ++e) {
        found.emplace_back(u, by_source.destinations[e]);
        const int32_t edge = by_source.edges[e];
        EXPECT_EQ(block.indices[edge], u);
        EXPECT_GE(edge, block.indptr[by_source.destinations[e]]);
        EXPECT_LT(edge, block.indptr[by_source.destinations[e] + 1]);
      }
    }
    EXPECT_EQ(found, wanted);
  }
}

TEST(LayerBlocksTest, SelfLoopsAreInEveryLayerAndInItsBlocksBySource) {
  Schema schema = TwoTypes();
  schema.node_types.pop_back();
  schema.relations = {{"a", "to", "a", 9, {}}};
  Minibatch minibatch;
  minibatch.layers = {{{RandomBlock(1, 4, 7)}, {4}, {7}}, {{RandomBlock(3, 7, 30)}, {7}, {30}}};
  const auto made = *MakeLayerBlocks(schema, minibatch, BlockForm::kSelfLoops, BySource::kAll);
  for (size_t l = 0; l < 2; ++l) {
    const Block& block = minibatch.layers[l].blocks[0];
    ASSERT_EQ(made.layers[l].looped.size(), 1U);
    EXPECT_EQ(made.layers[l].looped[0], WithSelfLoops(block));
    ASSERT_EQ(made.layers[l].transposed.size(), 1U);
    EXPECT_EQ(made.layers[l].transposed[0].destinations.size(),
              block.indices.size() + block.indptr.size() - 1);
    EXPECT_TRUE(made.layers[l].by_relation.empty());
  }
}

// Types without destinations are in no form, and the sources of type b begin behind those of a.
TEST(LayerBlocksTest, RelationsAreGroupedByNodeTypeOverStackedInputs) {
  Minibatch minibatch;
  Block from_a{0, {0, 2, 2}, {6, 1}}, from_b{1, {0, 1, 3}, {0, 8, 4}};
  minibatch.layers = {{{from_a, from_b}, {0, 2}, {7, 9}}};
  const auto within =
      *MakeLayerBlocks(TwoTypes(), minibatch, BlockForm::kByRelation, BySource::kAll);
  ASSERT_EQ(within.layers.size(), 1U);
  ASSERT_EQ(within.layers[0].by_relation.size(), 2U);
  EXPECT_TRUE(within.layers[0].by_relation[0].destinations.empty());
  const RelationGroups& groups = within.layers[0].by_relation[1];
  EXPECT_THAT(groups.relations, testing::ElementsAre(0, 1, 3));
  EXPECT_THAT(groups.destinations, testing::ElementsAre(0, 0, 1));
  EXPECT_THAT(groups.edges.indices, testing::ElementsAre(6, 1, 7, 15, 11));
  ASSERT_EQ(within.layers[0].transposed.size(), 2U);
  EXPECT_EQ(within.layers[0].transposed[1].indptr.size(), 17U);
  const auto by_node =
      *MakeLayerBlocks(TwoTypes(), minibatch, BlockForm::kByDestination, BySource::kAll);
  ASSERT_EQ(by_node.layers[0].by_destination.size(), 2U);
  EXPECT_TRUE(by_node.layers[0].by_destination[0].groups.empty());
  const RelationalBlock& block = by_node.layers[0].by_destination[1];
  EXPECT_THAT(block.groups, testing::ElementsAre(0, 2, 3));
  EXPECT_THAT(block.sources, testing::ElementsAre(6, 1, 7, 15, 11));
  EXPECT_EQ(by_node.layers[0].transposed[1].indptr.size(), 17U);
}

TEST(LayerBlocksTest, OnlyTheModelsFirstLayerIsByDestination) {
  Minibatch minibatch;
  const SampledLayer layer = {{{0, {0, 2, 2}, {6, 1}}}, {0, 2}, {7, 9}};
  minibatch.layers = {layer, layer};  // the model's first one is the last
  const auto made =
      *MakeLayerBlocks(TwoTypes(), minibatch, BlockForm::kFirstByDestination, BySource::kAll);
  EXPECT_EQ(made.layers[0].by_relation.size(), 2U);
  EXPECT_TRUE(made.layers[0].by_destination.empty());
  EXPECT_EQ(made.layers[1].by_destination.size(), 2U);
  EXPECT_TRUE(made.layers[1].by_relation.empty());
  for (const LayerBlocks::Layer& one : made.layers) EXPECT_EQ(one.transposed.size(), 2U);
}

}  // namespace
}  // namespace halograph
