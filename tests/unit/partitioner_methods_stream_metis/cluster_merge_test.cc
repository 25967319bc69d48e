#include "partitioner/methods/stream_metis/clustering.h"
#include "tests/unit/partitioner_methods_stream_metis/stream_graph.h"

namespace halograph {
namespace {

Clusters Merged(const Dataset& dataset, const Degrees& degrees, int64_t max_clusters) {
  auto clusters = SingleNodes(degrees);
  EXPECT_TRUE(clusters.ok()) << clusters.status();
  const Status merged = MergeClusters(dataset, degrees, max_clusters, &*clusters);
  EXPECT_TRUE(merged.ok()) << merged;
  return std::move(clusters).value();
}

TEST(ClusterMergeTest, NeverLeavesMoreThanAsked) {
  OneType builder(320, RandomEdges(310, 310, 1500, 4));
  const Degrees degrees = DegreesOf(builder.dataset());
  for (const int64_t max_clusters : {1, 2, 7, 50, 200}) {
    const Clusters clusters = Merged(builder.dataset(), degrees, max_clusters);
    EXPECT_LE(clusters.count, max_clusters);
    EXPECT_GE(2 * clusters.count, max_clusters);  // and stops there
    ExpectClustersConsistent(clusters, degrees);
  }
}

TEST(ClusterMergeTest, NothingHappensWhereClustersAreFewEnough) {
  OneType builder(20, RandomEdges(20, 20, 60, 4));
  const Degrees degrees = DegreesOf(builder.dataset());
  EXPECT_EQ(Merged(builder.dataset(), degrees, 20).count, degrees.connected);
}

TEST(ClusterMergeTest, JoinsWithinBlocksWhereEdgesAre) {
  constexpr int64_t kBlock = 40;
  OneType builder(8 * kBlock, PlantedEdges(8, kBlock, 4000, 6));
  const Degrees degrees = DegreesOf(builder.dataset());
  const Clusters clusters = Merged(builder.dataset(), degrees, 80);
  std::vector<std::set<int64_t>> blocks(static_cast<size_t>(clusters.count));
  for (int64_t v = 0; v < 8 * kBlock; ++v) blocks[clusters.of[v]].insert(v / kBlock);
  int64_t pure = 0;
  for (const auto& within : blocks) pure += within.size() == 1 ? 1 : 0;
  // Four nodes by four edges, of which five of six lie within a block; by chance one of 500.
  EXPECT_GE(pure * 2, clusters.count);
}

TEST(ClusterMergeTest, CapsTheVolumeWhileEdgesDecide) {
  OneType builder(2000, RandomEdges(2000, 2000, 10000, 8));
  const Degrees degrees = DegreesOf(builder.dataset());
  const Clusters clusters = Merged(builder.dataset(), degrees, 500);
  const int64_t last_cap = (2 * (degrees.volume / 500 + 1)) << (kMaxMergePasses - 1);
  for (int64_t c = 0; c < clusters.count; ++c) EXPECT_LE(clusters.volume[c], last_cap);
}

TEST(ClusterMergeTest, LeavesOfAHubJoinOneAnother) {
  OneType builder(1000, Star(1000));
  const Degrees degrees = DegreesOf(builder.dataset());
  const Clusters clusters = Merged(builder.dataset(), degrees, 100);
  EXPECT_LE(clusters.count, 100);
  for (int64_t c = 0; c < clusters.count; ++c) {
    EXPECT_TRUE(clusters.volume[c] <= 100 || clusters.volume[c] >= 999) << clusters.volume[c];
  }
  ExpectClustersConsistent(clusters, degrees);
}

TEST(ClusterMergeTest, ComponentsWithoutAnEdgeBetweenThemArePacked) {
  EdgePairs edges;
  for (int64_t v = 0; v < 200; v += 2) edges.emplace_back(v, v + 1);
  OneType builder(200, edges);
  const Degrees degrees = DegreesOf(builder.dataset());
  const Clusters clusters = Merged(builder.dataset(), degrees, 10);
  EXPECT_LE(clusters.count, 10);
  ExpectClustersConsistent(clusters, degrees);
}

TEST(ClusterMergeTest, IsDeterministic) {
  OneType builder(300, RandomEdges(300, 300, 1500, 4));
  const Degrees degrees = DegreesOf(builder.dataset());
  const Clusters one = Merged(builder.dataset(), degrees, 40);
  const Clusters two = Merged(builder.dataset(), degrees, 40);
  EXPECT_TRUE(std::ranges::equal(one.of.span(), two.of.span()));
}

}  // namespace
}  // namespace halograph
