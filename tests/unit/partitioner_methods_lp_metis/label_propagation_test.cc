#include "partitioner/methods/lp_metis/label_propagation.h"

#include <algorithm>
#include <set>

#include "tests/unit/partitioner_methods_lp_metis/graph_of.h"

namespace halograph {
namespace {

std::vector<int64_t> Sizes(const Clustering& clustering) {
  std::vector<int64_t> sizes(static_cast<size_t>(clustering.clusters));
  for (const uint32_t cluster : clustering.cluster_of) ++sizes.at(cluster);
  return sizes;
}

// Groups of `size` nodes in which all are joined to all; each shares one edge with the next.
EdgePairs Cliques(int64_t cliques, int64_t size) {
  EdgePairs edges;
  for (int64_t clique = 0; clique < cliques; ++clique) {
    for (int64_t i = 0; i < size; ++i) {
      for (int64_t j = 0; j < i; ++j) edges.emplace_back(clique * size + i, clique * size + j);
    }
    if (clique > 0) edges.emplace_back(clique * size, clique * size - 1);
  }
  return edges;
}

TEST(PropagateLabelsTest, CliquesStayTogether) {
  const EdgePairs edges = Cliques(20, 10);
  const TestGraph graph = GraphOf(200, edges);
  const Clustering clustering = PropagateLabels(graph.csr, {.max_nodes = 15, .rounds = 10});
  EXPECT_LE(clustering.clusters, 26);
  int64_t within = 0;
  for (const auto& [u, v] : edges) {
    const auto& cluster_of = clustering.cluster_of;
    within += cluster_of[static_cast<size_t>(u)] == cluster_of[static_cast<size_t>(v)] ? 1 : 0;
  }
  EXPECT_GT(static_cast<double>(within), 0.9 * static_cast<double>(edges.size()));
}

TEST(PropagateLabelsTest, NoClusterExceedsItsSize) {
  const TestGraph graph = GraphOf(500, RandomEdges(500, 500, 5000, 3));
  for (const int64_t most : {2, 7, 100}) {
    const Clustering clustering = PropagateLabels(graph.csr, {.max_nodes = most, .rounds = 5});
    const std::vector<int64_t> sizes = Sizes(clustering);
    EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), most);
    EXPECT_GT(*std::min_element(sizes.begin(), sizes.end()), 0);
    EXPECT_LT(clustering.clusters, 500);
  }
}

TEST(PropagateLabelsTest, SizeOneLeavesEveryNodeAlone) {
  const TestGraph graph = GraphOf(50, RandomEdges(50, 50, 300, 3));
  const Clustering clustering = PropagateLabels(graph.csr, {});
  EXPECT_EQ(clustering.clusters, 50);
  for (uint32_t v = 0; v < 50; ++v) EXPECT_EQ(clustering.cluster_of[v], v);
}

TEST(PropagateLabelsTest, LeavesOfAFullHubAreJoined) {
  EdgePairs edges;
  for (int64_t i = 1; i <= 1000; ++i) edges.emplace_back(i, 0);
  const TestGraph graph = GraphOf(1001, edges);
  const Clustering clustering = PropagateLabels(graph.csr, {.max_nodes = 50, .rounds = 5});
  EXPECT_LE(clustering.clusters, 25);
}

TEST(PropagateLabelsTest, NodesWithoutNeighboursAreJoined) {
  const TestGraph graph = GraphOf(100, {{0, 1}});
  const Clustering clustering = PropagateLabels(graph.csr, {.max_nodes = 10, .rounds = 5});
  EXPECT_LE(clustering.clusters, 11);
}

TEST(PropagateLabelsTest, SameSeedSameClusters) {
  const TestGraph graph = GraphOf(9000, RandomEdges(9000, 9000, 40000, 3));
  const PropagationOptions options{.max_nodes = 20, .rounds = 3, .seed = 5};
  const Clustering clustering = PropagateLabels(graph.csr, options);
  EXPECT_EQ(PropagateLabels(graph.csr, options).cluster_of, clustering.cluster_of);
  EXPECT_NE(PropagateLabels(graph.csr, {.max_nodes = 20, .rounds = 3, .seed = 6}).cluster_of,
            clustering.cluster_of);
}

}  // namespace
}  // namespace halograph
