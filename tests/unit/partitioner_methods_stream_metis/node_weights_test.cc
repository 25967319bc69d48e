#include "partitioner/methods/stream_metis/node_weights.h"

#include "partitioner/methods/metis/vertex_weights.h"
#include "tests/unit/partitioner_methods_stream_metis/stream_graph.h"

namespace halograph {
namespace {

TEST(NodeWeightsTest, RowsAreThoseOfBuildVertexWeights) {
  DatasetBuilder builder;
  builder.Nodes("a", 20)
      .Nodes("b", 30)
      .Edges("a", "to", "b", RandomEdges(20, 30, 100, 2))
      .TaskSet("train", "a", false, {0, 5, 5, 19})
      .TaskSet("valid", "a:to:b", true, {3, 4, 5, 6, 7, 4}, 2);
  for (const BalanceOptions& balance :
       {BalanceOptions{}, BalanceOptions{false, true, false, true, true},
        BalanceOptions{false, false, false, false, false}}) {
    const Degrees degrees = DegreesOf(builder.dataset());
    const auto weights = NodeWeights::Build(builder.dataset(), degrees, balance);
    ASSERT_TRUE(weights.ok()) << weights.status();
    const auto graph = BuildFoldedGraph(builder.dataset(), false);
    const auto slow = BuildVertexWeights(builder.dataset(), *graph, balance);
    ASSERT_EQ(weights->count(), slow->count());
    std::vector<int32_t> row(weights->count());
    for (int64_t v = 0; v < 50; ++v) {
      weights->Row(v, row.data());
      for (size_t c = 0; c < row.size(); ++c) EXPECT_EQ(row[c], slow->Row(v)[c]) << v << " " << c;
    }
  }
}

TEST(NodeWeightsTest, CountsMoreRowsThanAByteHolds) {
  for (const int rows : {253, 254, 255, 256, 1000}) {
    OneType builder(3, {{0, 1}});
    builder.TaskSet("train", "node", false, std::vector<int64_t>(static_cast<size_t>(rows), 2));
    const Degrees degrees = DegreesOf(builder.dataset());
    const auto weights = NodeWeights::Build(builder.dataset(), degrees, {});
    ASSERT_TRUE(weights.ok()) << weights.status();
    std::vector<int32_t> row(weights->count());
    weights->Row(2, row.data());
    EXPECT_EQ(row.back(), rows);
    weights->Row(1, row.data());
    EXPECT_EQ(row.back(), 0);
  }
}

}  // namespace
}  // namespace halograph
