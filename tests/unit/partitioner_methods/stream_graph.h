// Small graphs for the steps of stream-metis, and what several tests ask of them.
#pragma once

#include <utility>
#include <vector>

#include "partitioner/methods/stream_metis/clustering.h"
#include "tests/support/memory_dataset.h"

namespace halograph {

// One node type; edges as given, in this order.
class OneType : public DatasetBuilder {
 public:
  OneType(int64_t nodes, const EdgePairs& edges) {
    Nodes("node", nodes).Edges("node", "edge", "node", edges);
  }
};

inline Degrees DegreesOf(const Dataset& dataset) {
  auto degrees = CountStreamDegrees(dataset);
  EXPECT_TRUE(degrees.ok()) << degrees.status();
  return std::move(degrees).value();
}

// `blocks` blocks of `size` nodes; of `count` edges four of five within a block.
inline EdgePairs PlantedEdges(int64_t blocks, int64_t size, int64_t count, uint64_t key) {
  CounterRng rng(key);
  const auto any = [&](int64_t n) {
    return static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(n)));
  };
  EdgePairs edges;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t u = any(blocks * size);
    const int64_t v = any(5) < 4 ? u / size * size + any(size) : any(blocks * size);
    edges.emplace_back(u, v);
    edges.emplace_back(v, u);
  }
  return edges;
}

inline EdgePairs Star(int64_t nodes) {
  EdgePairs edges;
  for (int64_t v = 1; v < nodes; ++v) edges.emplace_back(v, 0);
  return edges;
}

// Clusters of as many nodes as there are ids, by id / size.
inline Clusters EvenClusters(const Degrees& degrees, int64_t size) {
  auto clusters = SingleNodes(degrees);
  EXPECT_TRUE(clusters.ok()) << clusters.status();
  std::fill_n(clusters->volume.data(), clusters->volume.size(), 0U);
  for (int64_t v = 0; v < degrees.num_nodes(); ++v) {
    if (clusters->of[v] == kNoCluster) continue;
    clusters->of[v] = static_cast<uint32_t>(v / size);
    clusters->volume[v / size] += degrees.of[v].total;
  }
  EXPECT_TRUE(CompactClusters(&*clusters).ok());
  return std::move(clusters).value();
}

// Ids are dense, nodes without neighbours are in none, volumes are sums of degrees.
inline void ExpectClustersConsistent(const Clusters& clusters, const Degrees& degrees) {
  std::vector<int64_t> volumes(static_cast<size_t>(clusters.count), 0);
  for (int64_t v = 0; v < degrees.num_nodes(); ++v) {
    if (degrees.of[v].total == 0) {
      ASSERT_EQ(clusters.of[v], kNoCluster) << v;
      continue;
    }
    ASSERT_LT(clusters.of[v], clusters.count) << v;
    volumes[clusters.of[v]] += degrees.of[v].total;
  }
  for (int64_t c = 0; c < clusters.count; ++c) {
    ASSERT_GT(volumes[static_cast<size_t>(c)], 0) << c;
    ASSERT_EQ(clusters.volume[c], volumes[static_cast<size_t>(c)]) << c;
  }
}

}  // namespace halograph
