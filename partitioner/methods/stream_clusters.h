// Clusters of nodes by one pass over the edges (A. Hollocou, J. Maudet, T. Bonald, M. Lelarge, "A
// Streaming Algorithm for Graph Clustering", 2017), as SPRING, 2PS-L and stream-metis begin. Every
// node starts as a cluster of its own. For an edge, if neither end's cluster has more than
// `max_volume`, the end in the cluster of lower volume moves to the other's, as long as that stays
// within `max_volume`. Volume: the sum of the true degrees of a cluster's nodes. What is joined
// early in the stream is mostly joined by chance within a community, as there are more edges within
// than between.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

// Which volumes are compared: of the whole clusters (Hollocou, SPRING), or without the node that
// would move (2PS-L).
enum class ComparedVolume { kWhole, kWithoutNode };

// Not thread-safe. A cluster is named by the node that it began with; a cluster whose nodes all
// left has volume 0.
class StreamClusters {
 public:
  static constexpr int64_t kBytesPerNode = 2 * sizeof(uint32_t);

  // Each node alone. `degrees` outlives this; `what` names the method in messages.
  //   ResourceExhausted  no memory, or more than 2^32 - 1 nodes
  [[nodiscard]] static StatusOr<StreamClusters> Make(const Degrees& degrees, uint32_t max_volume,
                                                     ComparedVolume compared,
                                                     std::string_view what);

  // All edges of a chunk, in order.
  void JoinAll(const UnionEdges& edges);
  // Gives all of a cluster to another, whatever their volumes; nodes keep the old name.
  void Merge(int64_t from, int64_t to) {
    volume_[to] += volume_[from];
    volume_[from] = 0;
  }

  [[nodiscard]] uint32_t of(int64_t node) const { return cluster_[node]; }
  [[nodiscard]] uint32_t volume(int64_t cluster) const { return volume_[cluster]; }
  void Prefetch(int64_t node) const { cluster_.Prefetch(node); }
  void PrefetchVolume(int64_t node) const { volume_.Prefetch(cluster_[node]); }

  // Of each node its cluster; of each cluster its volume. Gone from here then.
  [[nodiscard]] NodeArray<uint32_t> TakeClusters() { return std::move(cluster_); }
  [[nodiscard]] NodeArray<uint32_t> TakeVolumes() { return std::move(volume_); }

 private:
  template <ComparedVolume kCompared>
  void JoinEach(const UnionEdges& edges);
  template <ComparedVolume kCompared>
  void Join(int64_t u, int64_t v);
  void Move(int64_t node, uint32_t from, uint32_t to);

  const NodeArray<NodeDegree>* degrees_ = nullptr;
  uint32_t max_volume_ = 0;
  ComparedVolume compared_ = ComparedVolume::kWhole;
  NodeArray<uint32_t> cluster_;  // of a node
  NodeArray<uint32_t> volume_;   // of a cluster
};

}  // namespace halograph
