#include "partitioner/methods/stream_metis/clustering.h"
#include "tests/unit/partitioner_methods_stream_metis/stream_graph.h"

namespace halograph {
namespace {

TEST(DegreePassTest, CountsInEdgesAndNeighboursOfEveryNode) {
  const EdgePairs edges = {{0, 1}, {1, 0}, {0, 1}, {2, 2}, {2, 1}};
  const Degrees degrees = DegreesOf(OneType(5, edges).dataset());
  const std::vector<uint32_t> in = {1, 3, 1, 0, 0};
  const std::vector<uint32_t> total = {3, 4, 1, 0, 0};  // the self-loop of 2 is none
  for (int64_t v = 0; v < 5; ++v) {
    EXPECT_EQ(degrees.of[v].in, in[v]) << v;
    EXPECT_EQ(degrees.of[v].total, total[v]) << v;
  }
  EXPECT_EQ(degrees.edges, 5);
  EXPECT_EQ(degrees.volume, 8);
  EXPECT_EQ(degrees.connected, 3);
}

TEST(DegreePassTest, TypesFollowOneAnother) {
  DatasetBuilder builder;
  builder.Nodes("a", 2).Nodes("b", 3).Edges("a", "to", "b", {{1, 0}, {1, 2}});
  const Degrees degrees = DegreesOf(builder.dataset());
  EXPECT_EQ(degrees.num_nodes(), 5);
  EXPECT_EQ(degrees.of[1].total, 2);
  EXPECT_EQ(degrees.of[2].in, 1);
  EXPECT_EQ(degrees.of[4].in, 1);
}

TEST(DegreePassTest, NoNodesAndNoEdges) {
  DatasetBuilder builder;
  const Degrees degrees = DegreesOf(builder.dataset());
  EXPECT_EQ(degrees.num_nodes(), 0);
  EXPECT_EQ(degrees.edges, 0);
}

TEST(DegreePassTest, MoreNodesThanIdsIsResourceExhausted) {
  DatasetBuilder builder;
  builder.Nodes("node", kMaxStreamNodes + 1);
  const auto degrees = CountStreamDegrees(builder.dataset());
  EXPECT_TRUE(absl::IsResourceExhausted(degrees.status())) << degrees.status();
}

}  // namespace
}  // namespace halograph
