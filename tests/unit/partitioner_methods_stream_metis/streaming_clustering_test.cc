#include <map>

#include "partitioner/methods/stream_metis/clustering.h"
#include "tests/unit/partitioner_methods_stream_metis/stream_graph.h"

namespace halograph {
namespace {

Clusters Cluster(const Dataset& dataset, const Degrees& degrees, int64_t max_volume) {
  auto clusters = ClusterStream(dataset, degrees, max_volume);
  EXPECT_TRUE(clusters.ok()) << clusters.status();
  return std::move(clusters).value();
}

// The paper's algorithm word by word, volumes summed anew for every edge.
std::vector<int64_t> SlowClusters(int64_t nodes, const EdgePairs& edges, int64_t max_volume) {
  std::vector<int64_t> cluster(nodes), degree(nodes, 0);
  for (int64_t v = 0; v < nodes; ++v) cluster[v] = v;
  for (const auto& [u, v] : edges) {
    if (u == v) continue;
    ++degree[u];
    ++degree[v];
  }
  const auto volume = [&](int64_t c) {
    int64_t sum = 0;
    for (int64_t v = 0; v < nodes; ++v) sum += cluster[v] == c ? degree[v] : 0;
    return sum;
  };
  for (const auto& [u, v] : edges) {
    if (cluster[u] == cluster[v]) continue;
    const int64_t of_u = volume(cluster[u]);
    const int64_t of_v = volume(cluster[v]);
    if (of_u > max_volume || of_v > max_volume) continue;
    if (of_u <= of_v && of_v + degree[u] <= max_volume) cluster[u] = cluster[v];
    if (of_u > of_v && of_u + degree[v] <= max_volume) cluster[v] = cluster[u];
  }
  return cluster;
}

TEST(StreamingClusteringTest, DoesWhatThePaperSays) {
  for (const uint64_t key : {1, 2, 3}) {
    for (const int64_t max_volume : {1, 8, 20, 60, 100000}) {
      const EdgePairs edges = PlantedEdges(5, 12, 150, key);
      OneType builder(62, edges);
      const Degrees degrees = DegreesOf(builder.dataset());
      const Clusters clusters = Cluster(builder.dataset(), degrees, max_volume);
      const std::vector<int64_t> slow = SlowClusters(62, edges, max_volume);
      std::map<int64_t, uint32_t> renamed;
      for (int64_t v = 0; v < 60; ++v) {
        if (degrees.of[v].total == 0) continue;
        const auto [place, first] = renamed.try_emplace(slow[v], clusters.of[v]);
        ASSERT_EQ(clusters.of[v], place->second) << "node " << v << ", v_max " << max_volume;
      }
      EXPECT_EQ(clusters.count, static_cast<int64_t>(renamed.size()));
    }
  }
}

TEST(StreamingClusteringTest, NoClusterOfSeveralNodesExceedsTheVolume) {
  OneType builder(400, RandomEdges(390, 390, 3000, 9));
  const Degrees degrees = DegreesOf(builder.dataset());
  for (const int64_t max_volume : {10, 40, 200}) {
    const Clusters clusters = Cluster(builder.dataset(), degrees, max_volume);
    ExpectClustersConsistent(clusters, degrees);
    std::vector<int> members(static_cast<size_t>(clusters.count), 0);
    for (const uint32_t cluster : clusters.of.span()) {
      if (cluster != kNoCluster) ++members[cluster];
    }
    for (int64_t c = 0; c < clusters.count; ++c) {
      EXPECT_TRUE(clusters.volume[c] <= max_volume || members[static_cast<size_t>(c)] == 1) << c;
    }
  }
}

TEST(StreamingClusteringTest, HubStaysAlone) {
  OneType builder(100, Star(100));
  const Degrees degrees = DegreesOf(builder.dataset());
  const Clusters clusters = Cluster(builder.dataset(), degrees, 10);
  EXPECT_EQ(clusters.count, 100);
  EXPECT_EQ(clusters.volume[0], 99U);
}

TEST(StreamingClusteringTest, SingleNodesLeavesOutThoseWithoutNeighbours) {
  OneType builder(6, {{1, 4}, {2, 2}});
  const Degrees degrees = DegreesOf(builder.dataset());
  const auto clusters = SingleNodes(degrees);
  ASSERT_TRUE(clusters.ok()) << clusters.status();
  EXPECT_EQ(clusters->count, 2);
  ExpectClustersConsistent(*clusters, degrees);
}

TEST(StreamingClusteringTest, StreamThatGrewIsDataLoss) {
  OneType builder(4, {{0, 1}});
  Dataset dataset = builder.dataset();
  dataset.relations[0].edges =
      std::make_shared<ChangingEdges>(EdgePairs{{0, 1}}, EdgePairs{{0, 1}, {2, 3}}, 1);
  const Degrees degrees = DegreesOf(dataset);
  EXPECT_TRUE(absl::IsDataLoss(ClusterStream(dataset, degrees, 10).status()));
}

}  // namespace
}  // namespace halograph
