#include "partitioner/plan/parts_choice.h"

#include <gmock/gmock.h>

#include "partitioner/methods/method.h"
#include "tests/unit/partitioner_methods/memory_dataset.h"

namespace halograph {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(NeedsOfPartTest, OnePartNeedsTheWholeGraphAndNoHalo) {
  const PartNeeds needs = NeedsOfPart(GraphSizes::Of(1000, 16000, 400), 1);
  EXPECT_EQ(needs.core_features, 400'000);
  // An offset and an original id a node, a uint32 source and an original id an edge.
  EXPECT_EQ(needs.topology, 1000 * 16 + 16000 * 12);
  EXPECT_EQ(needs.halo, 0);
}

TEST(NeedsOfPartTest, PartsShareWithWhatBalanceAllowsOnTop) {
  const PartNeeds needs = NeedsOfPart(GraphSizes::Of(1000, 16000, 400), 4);
  EXPECT_EQ(needs.core_features, 263 * 400);  // 1000 / 4 * 1.05
  EXPECT_EQ(needs.halo_nodes, 131);           // 0.25 * log2(4) * 1000 / 4 * 1.05
  EXPECT_EQ(needs.halo, 131 * 408);
}

TEST(NeedsOfPartTest, HaloIsAtMostTheInEdges) {
  EXPECT_EQ(NeedsOfPart(GraphSizes::Of(1000, 20, 0), 2).halo_nodes, 12);  // 20 / 2 * 1.12
}

TEST(NeedsOfPartTest, TypesAndRelationsAddUp) {
  GraphSizes sizes;
  sizes.counts.nodes = {100, int64_t{1} << 33};
  sizes.counts.relations = {{.source_type = 1, .destination_type = 0, .edges = 1000}};
  sizes.node_row_bytes = {8, 0};
  sizes.edge_row_bytes = {4};
  const PartNeeds needs = NeedsOfPart(sizes, 1);
  EXPECT_EQ(needs.core_features, 100 * 8 + 1000 * 4);
  // Sources of more than 32 bits.
  EXPECT_EQ(needs.topology, (100 + (int64_t{1} << 33)) * 8 + 1000 * 16 + 100 * 8);
}

TEST(ChoosePartsTest, TakesTheLeastThatFits) {
  const GraphSizes sizes = GraphSizes::Of(1'000'000, 16'000'000, 512);
  for (const int wanted : {1, 2, 3, 8, 17}) {
    const int64_t memory = NeedsOfPart(sizes, wanted).bytes();
    const auto choice = ChooseParts(sizes, memory);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_EQ(choice->parts, wanted);
    EXPECT_EQ(ChooseParts(sizes, memory - 1)->parts, wanted + 1);
    EXPECT_THAT(choice->why, AllOf(HasSubstr(fmt::format("{} partition", wanted)),
                                   HasSubstr("features"), HasSubstr("halo")));
  }
}

TEST(ChoosePartsTest, TooLittleForAnyNumberSaysWhatItNeeds) {
  const GraphSizes sizes = GraphSizes::Of(1'000'000'000, 16'000'000'000, 512);
  const auto choice = ChooseParts(sizes, 1 << 20);
  EXPECT_TRUE(absl::IsResourceExhausted(choice.status())) << choice.status();
  EXPECT_THAT(Message(choice.status()), AllOf(HasSubstr("1.0 MiB"), HasSubstr("4096")));
}

TEST(ChoosePartsTest, NeverMorePartsThanNodes) {
  EXPECT_THAT(Message(ChooseParts(GraphSizes::Of(3, 1'000'000, 0), 1000).status()),
              HasSubstr("one of 3 partitions"));
}

TEST(GraphSizesTest, OfADataSetCountsFeaturesAndTasks) {
  DatasetBuilder builder;
  builder.Nodes("node", 4)
      .NodeFeature("feat", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, 2)
      .Edges("node", "edge", "node", {{0, 1}, {2, 1}, {3, 0}})
      .EdgeFeature("weight", std::vector<double>{1, 2, 3}, 1)
      .TaskSet("train", "node", false, {0, 3});
  const GraphSizes sizes = GraphSizes::Of(builder.dataset());
  EXPECT_EQ(sizes.node_feature_bytes(), 32);
  EXPECT_EQ(sizes.edge_feature_bytes(), 24);
  EXPECT_EQ(sizes.task_bytes, 16);
  EXPECT_EQ(sizes.counts.num_edges(), 3);
}

}  // namespace
}  // namespace halograph
