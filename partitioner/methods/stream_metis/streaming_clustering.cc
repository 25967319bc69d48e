#include "partitioner/methods/stream_metis/streaming_clustering.h"

#include <algorithm>
#include <utility>

#include "partitioner/stream/ahead.h"
#include "partitioner/stream/edge_pass.h"

namespace halograph {
namespace {

class Joiner {
 public:
  Joiner(const Degrees& degrees, int64_t max_volume, Clusters* clusters)
      : degrees_(degrees.of.data()),
        cluster_(clusters->of.data()),
        volume_(clusters->volume.data()),
        max_volume_(static_cast<uint32_t>(std::min<int64_t>(max_volume, kMaxDegree))) {}

  void Chunk(const UnionEdges& edges) {
    const size_t size = edges.sources.size();
    for (size_t i = 0; i < size; ++i) {
      PrefetchEnds(edges, i + kFarAhead, cluster_);
      // May have moved by then: only a hint.
      AskForEnds(edges, i + kNearAhead,
                 [&](int64_t node) { __builtin_prefetch(volume_ + cluster_[node], 1); });
      Edge(edges.sources[i], edges.destinations[i]);
    }
  }

 private:
  void Edge(int64_t u, int64_t v) {
    const uint32_t from_u = cluster_[u];
    const uint32_t from_v = cluster_[v];
    if (from_u == from_v) return;
    if (volume_[from_u] > max_volume_ || volume_[from_v] > max_volume_) return;
    if (volume_[from_u] <= volume_[from_v]) {
      Move(u, from_u, from_v);
    } else {
      Move(v, from_v, from_u);
    }
  }

  void Move(int64_t node, uint32_t from, uint32_t to) {
    const uint32_t degree = degrees_[node].total;
    // Both are at most kMaxDegree, so the sum fits.
    if (volume_[to] + degree > max_volume_) return;
    volume_[from] -= degree;
    volume_[to] += degree;
    cluster_[node] = to;
  }

  const NodeDegree* degrees_;
  uint32_t* cluster_;
  uint32_t* volume_;
  uint32_t max_volume_;
};

// Cluster of each node: the node itself, isolated or not; count: nodes.
StatusOr<Clusters> OneEach(const Degrees& degrees) {
  const int64_t nodes = degrees.num_nodes();
  Clusters clusters;
  HG_ASSIGN_OR_RETURN(clusters.of, NodeArray<uint32_t>::Make(nodes, "clusters"));
  HG_ASSIGN_OR_RETURN(clusters.volume, NodeArray<uint32_t>::Make(nodes, "cluster volumes"));
  for (int64_t v = 0; v < nodes; ++v) {
    clusters.of[v] = static_cast<uint32_t>(v);
    clusters.volume[v] = degrees.of[v].total;
  }
  clusters.count = nodes;
  return clusters;
}

}  // namespace

StatusOr<Clusters> SingleNodes(const Degrees& degrees) {
  HG_ASSIGN_OR_RETURN(Clusters clusters, OneEach(degrees));
  HG_RETURN_IF_ERROR(CompactClusters(&clusters));
  return clusters;
}

StatusOr<Clusters> ClusterStream(const Dataset& dataset, const Degrees& degrees,
                                 int64_t max_volume) {
  HG_ASSIGN_OR_RETURN(Clusters clusters, OneEach(degrees));
  Joiner joiner(degrees, max_volume, &clusters);
  HG_RETURN_IF_ERROR(
      RepeatUnionEdges(dataset, "clustering", degrees.edges, [&](const UnionEdges& edges) {
        joiner.Chunk(edges);
        return OkStatus();
      }));
  HG_RETURN_IF_ERROR(CompactClusters(&clusters));
  return clusters;
}

Status CompactClusters(Clusters* clusters) {
  HG_ASSIGN_OR_RETURN(auto renamed, NodeArray<uint32_t>::Make(clusters->count, "new cluster ids"));
  uint32_t next = 0;
  for (int64_t c = 0; c < clusters->count; ++c) {
    const uint32_t volume = clusters->volume[c];
    renamed[c] = volume > 0 ? next : kNoCluster;
    if (volume == 0) continue;
    clusters->volume[next] = volume;  // next <= c
    ++next;
  }
  for (uint32_t& cluster : clusters->of.span()) {
    if (cluster != kNoCluster) cluster = renamed[cluster];
  }
  clusters->count = next;
  return OkStatus();
}

}  // namespace halograph
