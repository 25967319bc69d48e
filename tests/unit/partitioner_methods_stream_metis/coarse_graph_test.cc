#include "partitioner/methods/stream_metis/coarse_graph.h"

#include <map>

#include "tests/unit/partitioner_methods_stream_metis/stream_graph.h"

namespace halograph {
namespace {

struct Built {
  Degrees degrees;
  Clusters clusters;
  StatusOr<CoarseGraph> coarse = Internal("not built");
};

Built Build(const Dataset& dataset, int64_t cluster_size, int64_t max_pairs = 100000) {
  Built built;
  built.degrees = DegreesOf(dataset);
  built.clusters = EvenClusters(built.degrees, cluster_size);
  const auto weights = NodeWeights::Build(dataset, built.degrees, {});
  EXPECT_TRUE(weights.ok()) << weights.status();
  built.coarse =
      BuildCoarseGraph(dataset, built.clusters, *weights, built.degrees.edges, max_pairs, 3);
  return built;
}

TEST(CoarseGraphTest, WeighsPairsOfClustersByTheirEdges) {
  const EdgePairs edges = RandomEdges(60, 60, 400, 2);
  OneType builder(60, edges);
  const Built built = Build(builder.dataset(), 6);
  ASSERT_TRUE(built.coarse.ok()) << built.coarse.status();
  std::map<std::pair<uint32_t, uint32_t>, int> expected;
  for (const auto& [u, v] : edges) {
    const uint32_t a = built.clusters.of[u];
    const uint32_t b = built.clusters.of[v];
    if (a == b) continue;
    ++expected[{a, b}];
    ++expected[{b, a}];
  }
  const FoldedGraph& graph = built.coarse->graph;
  std::map<std::pair<uint32_t, uint32_t>, int> found;
  for (uint32_t a = 0; a < graph.num_nodes(); ++a) {
    for (int i = graph.xadj[a]; i < graph.xadj[a + 1]; ++i) {
      EXPECT_TRUE(i == graph.xadj[a] ||
                  graph.neighbours.data()[i - 1] < graph.neighbours.data()[i]);
      found[{a, graph.neighbours.data()[i]}] = graph.weights[i];
    }
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(built.coarse->share, 1);
}

TEST(CoarseGraphTest, SumsTheWeightsOfNodesInClusters) {
  DatasetBuilder builder;
  builder.Nodes("a", 20)
      .Nodes("b", 30)
      .Edges("a", "to", "b", RandomEdges(20, 25, 100, 2))
      .TaskSet("train", "b", false, {1, 2, 3, 3});
  const Built built = Build(builder.dataset(), 5);
  ASSERT_TRUE(built.coarse.ok()) << built.coarse.status();
  const VertexWeights& weights = built.coarse->weights;
  ASSERT_EQ(weights.count(), 4);
  std::vector<int64_t> sums(weights.count(), 0);
  for (int64_t c = 0; c < built.clusters.count; ++c) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += weights.Row(c)[i];
  }
  EXPECT_EQ(sums[0] + sums[1], built.degrees.connected);
  EXPECT_EQ(sums[2], 100);
  EXPECT_EQ(sums[3], 4);
  for (size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(weights.constraints[i].total, sums[i]);
}

TEST(CoarseGraphTest, SamplesDownToTheBudget) {
  OneType builder(200, RandomEdges(200, 200, 4000, 2));
  const Built built = Build(builder.dataset(), 1, 300);
  ASSERT_TRUE(built.coarse.ok()) << built.coarse.status();
  EXPECT_LE(built.coarse->graph.num_arcs(), 2 * 300);
  EXPECT_GE(built.coarse->graph.num_arcs(), 2 * 100);
  EXPECT_LT(built.coarse->share, 1);
}

TEST(CoarseGraphTest, StreamThatShrankIsDataLoss) {
  OneType builder(4, {{0, 1}});
  Dataset dataset = builder.dataset();
  dataset.relations[0].edges =
      std::make_shared<ChangingEdges>(EdgePairs{{0, 1}, {2, 3}}, EdgePairs{{0, 1}}, 1);
  EXPECT_TRUE(absl::IsDataLoss(Build(dataset, 1).coarse.status()));
}

}  // namespace
}  // namespace halograph
