// Runs an edge partitioner over a small data set and keeps what it placed where.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "partitioner/methods/literature/edge_partitioner.h"
#include "tests/support/memory_dataset.h"

namespace halograph {

struct PlacedEdge {
  int64_t source = 0, destination = 0;
  int pass = 0;
  int part = 0;
};

// A graph of one node type, its degrees, and a partitioner over it.
template <typename PartitionerT>
class PlacedEdges {
 public:
  PlacedEdges(int64_t nodes, EdgePairs edges, int parts, EdgePartitionOptions options = {},
              uint64_t seed = 1) {
    builder_.Nodes("node", nodes).Edges("node", "edge", "node", std::move(edges));
    auto degrees = CountDegrees(builder_.dataset(), SelfLoops::kTwoEnds);
    EXPECT_TRUE(degrees.ok()) << degrees.status();
    degrees_ = std::move(degrees).value();
    stream_ = {&builder_.dataset(), &degrees_, parts, seed, options};
    const Status started = partitioner_.Start(stream_);
    EXPECT_TRUE(started.ok()) << started;
    auto replicas = NodeReplicas::Make(nodes, parts);
    EXPECT_TRUE(replicas.ok()) << replicas.status();
    replicas_ = std::move(replicas).value();
  }

  // In the order of placing: pass by pass, and in each the order of the stream. Every edge once.
  std::vector<PlacedEdge> Place() {
    std::vector<PlacedEdge> placed;
    replicas_.Clear();
    partitioner_.Restart(&replicas_);
    for (int pass = 0; pass < partitioner_.placing_passes(); ++pass) {
      const auto visit = [&](const UnionEdges& edges) {
        std::vector<uint16_t> parts(edges.sources.size());
        partitioner_.PlaceChunk(pass, edges, parts);
        for (size_t i = 0; i < parts.size(); ++i) {
          if (parts[i] == kPlacedElsewhere) continue;
          EXPECT_LT(parts[i], stream_.parts);
          placed.push_back({edges.sources[i], edges.destinations[i], pass, parts[i]});
        }
        return OkStatus();
      };
      const Status status = ForEachUnionEdges(builder_.dataset(), "placing", visit);
      EXPECT_TRUE(status.ok()) << status;
    }
    EXPECT_EQ(static_cast<int64_t>(placed.size()), degrees_.edges);
    return placed;
  }

  // A(v), from what was placed.
  static std::vector<std::set<int>> Replicas(int64_t nodes, const std::vector<PlacedEdge>& placed) {
    std::vector<std::set<int>> replicas(static_cast<size_t>(nodes));
    for (const PlacedEdge& edge : placed) {
      replicas[edge.source].insert(edge.part);
      replicas[edge.destination].insert(edge.part);
    }
    return replicas;
  }

  [[nodiscard]] const PartitionerT& partitioner() const { return partitioner_; }
  [[nodiscard]] const NodeReplicas& replicas() const { return replicas_; }
  [[nodiscard]] const EdgeStream& stream() const { return stream_; }
  [[nodiscard]] uint32_t degree(int64_t node) const { return degrees_.of[node].total; }

 private:
  DatasetBuilder builder_;
  Degrees degrees_;
  EdgeStream stream_;
  PartitionerT partitioner_;
  NodeReplicas replicas_;
};

// Twelve hubs, many small nodes, self-loops and parallel edges among them.
inline EdgePairs SkewedEdges(int64_t nodes, int64_t count, uint64_t key) {
  CounterRng rng(key);
  EdgePairs edges;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t range = rng.NextBounded(3) == 0 ? 12 : static_cast<uint64_t>(nodes);
    const auto u = static_cast<int64_t>(rng.NextBounded(range));
    edges.emplace_back(u, static_cast<int64_t>(rng.NextBounded(static_cast<uint64_t>(nodes))));
    if (i % 40 == 0) edges.emplace_back(u, u);
    if (i % 50 == 0) edges.push_back(edges[edges.size() / 2]);
  }
  return edges;
}

}  // namespace halograph
