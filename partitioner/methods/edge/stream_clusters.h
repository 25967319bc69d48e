// Clusters of nodes by one pass over the edges (A. Hollocou, J. Maudet, T. Bonald, M. Lelarge, "A
// Streaming Algorithm for Graph Clustering", 2017), as SPRING and 2PS-L begin. Every node starts as
// a cluster of its own. For an edge, if neither end's cluster has more than `max_volume`, the end
// in the cluster of lower volume moves to the other's, as long as that stays within `max_volume`.
// Volume: the sum of the true degrees of a cluster's nodes.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/methods/edge/edge_partitioner.h"
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

  // `what` names the method in messages. ResourceExhausted: no memory, or more than 2^32 - 1 nodes.
  [[nodiscard]] static StatusOr<StreamClusters> Make(const EdgeStream& stream, uint32_t max_volume,
                                                     ComparedVolume compared,
                                                     std::string_view what);

  // One edge.
  void Join(int64_t u, int64_t v) {
    uint32_t& cluster_u = cluster_[u];
    uint32_t& cluster_v = cluster_[v];
    if (cluster_u == cluster_v) return;
    uint32_t& volume_u = volume_[cluster_u];
    uint32_t& volume_v = volume_[cluster_v];
    if (volume_u > max_volume_ || volume_v > max_volume_) return;
    const uint32_t degree_u = (*degrees_)[u].total;
    const uint32_t degree_v = (*degrees_)[v].total;
    const bool whole = compared_ == ComparedVolume::kWhole;
    if (volume_u - (whole ? 0 : degree_u) <= volume_v - (whole ? 0 : degree_v)) {
      Move(degree_u, &cluster_u, &volume_u, cluster_v, &volume_v);
    } else {
      Move(degree_v, &cluster_v, &volume_v, cluster_u, &volume_u);
    }
  }
  // Gives all of a cluster to another, whatever their volumes; nodes keep the old name.
  void Merge(int64_t from, int64_t to) {
    volume_[to] += volume_[from];
    volume_[from] = 0;
  }
  // All edges of a chunk, in order.
  void JoinAll(const UnionEdges& edges);

  [[nodiscard]] uint32_t of(int64_t node) const { return cluster_[node]; }
  [[nodiscard]] uint32_t volume(int64_t cluster) const { return volume_[cluster]; }
  [[nodiscard]] int64_t num_nodes() const { return static_cast<int64_t>(cluster_.size()); }
  void Prefetch(int64_t node) const { cluster_.Prefetch(node); }
  void PrefetchVolume(int64_t node) const { volume_.Prefetch(cluster_[node]); }

 private:
  void Move(uint32_t degree, uint32_t* from, uint32_t* from_volume, uint32_t to,
            uint32_t* to_volume) const {
    if (degree > max_volume_ - *to_volume) return;
    *to_volume += degree;
    *from_volume -= degree;
    *from = to;
  }

  const NodeArray<NodeDegree>* degrees_ = nullptr;
  uint32_t max_volume_ = 0;
  ComparedVolume compared_ = ComparedVolume::kWhole;
  NodeArray<uint32_t> cluster_;  // of a node
  NodeArray<uint32_t> volume_;   // of a cluster
};

// `factor` times the edges' even share of a partition, at most what a volume holds, at least 1.
[[nodiscard]] uint32_t MaxVolume(const EdgeStream& stream, double factor);

}  // namespace halograph
