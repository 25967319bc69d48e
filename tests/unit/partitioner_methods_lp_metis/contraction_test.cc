#include "partitioner/methods/lp_metis/contraction.h"

#include <map>
#include <set>

#include <gmock/gmock.h>

#include "tests/unit/partitioner_methods_lp_metis/graph_of.h"

namespace halograph {
namespace {

using testing::ElementsAre;

TEST(ContractTest, SumsEdgesAndNodesOfClusters) {
  const TestGraph graph = GraphOf(300, RandomEdges(300, 300, 3000, 3));
  Clustering clustering;
  clustering.clusters = 20;
  for (uint32_t v = 0; v < 300; ++v) clustering.cluster_of.push_back(v % 20);
  const auto coarse = Contract(graph.csr, clustering, graph.weights);
  ASSERT_TRUE(coarse.ok()) << coarse.status();
  std::map<std::pair<uint32_t, uint32_t>, int64_t> expected;
  for (uint32_t v = 0; v < 300; ++v) {
    for (int64_t i = graph.csr.offsets()[v]; i < graph.csr.offsets()[v + 1]; ++i) {
      const uint32_t u = graph.csr.neighbours()[i];
      if (u % 20 != v % 20) expected[{v % 20, u % 20}] += graph.csr.Weight(i);
    }
  }
  std::map<std::pair<uint32_t, uint32_t>, int64_t> found;
  for (uint32_t c = 0; c < 20; ++c) {
    for (auto i = static_cast<size_t>(coarse->graph.xadj[c]);
         i < static_cast<size_t>(coarse->graph.xadj[c + 1]); ++i) {
      const bool first =
          found.emplace(std::pair(c, coarse->graph.neighbours.data()[i]), coarse->graph.weights[i])
              .second;
      EXPECT_TRUE(first);
    }
  }
  EXPECT_EQ(found, expected);
  ASSERT_EQ(coarse->weights.count(), 2U);  // nodes and edges
  int64_t in_edges = 0;
  for (int64_t c = 0; c < 20; ++c) {
    EXPECT_EQ(coarse->weights.Row(c)[0], 15);
    in_edges += coarse->weights.Row(c)[1];
  }
  EXPECT_EQ(in_edges, 3000);
}

TEST(ContractTest, OneClusterHasNoPairs) {
  const TestGraph graph = GraphOf(4, {{0, 1}, {1, 2}, {2, 3}});
  const auto coarse = Contract(graph.csr, {{0, 0, 0, 0}, 1}, graph.weights);
  ASSERT_TRUE(coarse.ok()) << coarse.status();
  EXPECT_THAT(coarse->graph.xadj, ElementsAre(0, 0));
}

TEST(ContractTest, WeightsAreHalvedUntilTheirSumFits) {
  EdgePairs edges(100, {0, 1});
  edges.insert(edges.end(), 3, {1, 2});
  const TestGraph graph = GraphOf(3, edges);
  const auto coarse = Contract(graph.csr, {{0, 1, 2}, 3}, graph.weights, {.max_weight = 60});
  ASSERT_TRUE(coarse.ok()) << coarse.status();
  EXPECT_THAT(coarse->graph.weights, ElementsAre(25, 25, 1, 1));  // 206 / 4
}

TEST(ContractTest, ConstraintsThatSumToTooMuchAreDivided) {
  EdgePairs edges(100, {0, 1});
  edges.insert(edges.end(), 5, {1, 2});
  const TestGraph graph = GraphOf(3, edges);
  const auto coarse = Contract(graph.csr, {{0, 1, 2}, 3}, graph.weights, {.max_weight = 60});
  ASSERT_TRUE(coarse.ok()) << coarse.status();
  for (int64_t c = 0; c < 3; ++c) EXPECT_EQ(coarse->weights.Row(c)[0], 1);  // nodes: as they are
  EXPECT_EQ(coarse->weights.Row(1)[1], 50);                                 // of 105 in-edges half
  EXPECT_EQ(coarse->weights.Row(2)[1], 2);
  EXPECT_EQ(coarse->weights.constraints[1].total, 52);
}

TEST(ContractTest, MorePairsThanAskedForAreSampledInBothDirections) {
  const TestGraph graph = GraphOf(400, RandomEdges(400, 400, 20000, 3));
  Clustering clustering;
  clustering.clusters = 400;
  for (uint32_t v = 0; v < 400; ++v) clustering.cluster_of.push_back(v);
  const auto coarse = Contract(graph.csr, clustering, graph.weights, {.max_arcs = 9000});
  ASSERT_TRUE(coarse.ok()) << coarse.status();
  EXPECT_LE(coarse->graph.num_arcs(), 9000);
  EXPECT_GT(coarse->graph.num_arcs(), 7500);
  EXPECT_NEAR(coarse->share, 9000.0 / static_cast<double>(graph.csr.num_arcs()), 0.05);
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t c = 0; c < 400; ++c) {
    for (auto i = static_cast<size_t>(coarse->graph.xadj[c]);
         i < static_cast<size_t>(coarse->graph.xadj[c + 1]); ++i) {
      pairs.emplace(c, coarse->graph.neighbours.data()[i]);
    }
  }
  EXPECT_EQ(static_cast<int64_t>(pairs.size()), coarse->graph.num_arcs());
  for (const auto& [a, b] : pairs) EXPECT_TRUE(pairs.contains({b, a}));
}

}  // namespace
}  // namespace halograph
