#include "partitioner/methods/stream_clusters.h"

#include <limits>

#include "common/base/units.h"
#include "partitioner/stream/ahead.h"

namespace halograph {

StatusOr<StreamClusters> StreamClusters::Make(const Degrees& degrees, uint32_t max_volume,
                                              ComparedVolume compared, std::string_view what) {
  const int64_t nodes = degrees.num_nodes();
  if (nodes > std::numeric_limits<uint32_t>::max()) {
    return ResourceExhausted(
        "{}: {} nodes, but clusters are numbered with 32 bits; use --method dbh, hdrf or random",
        what, FormatCount(nodes));
  }
  StreamClusters clusters;
  clusters.degrees_ = &degrees.of;
  clusters.max_volume_ = max_volume;
  clusters.compared_ = compared;
  HG_ASSIGN_OR_RETURN(clusters.cluster_, NodeArray<uint32_t>::Make(nodes, "clusters of nodes"));
  HG_ASSIGN_OR_RETURN(clusters.volume_, NodeArray<uint32_t>::Make(nodes, "volumes of clusters"));
  for (int64_t node = 0; node < nodes; ++node) {
    clusters.cluster_[node] = static_cast<uint32_t>(node);
    clusters.volume_[node] = degrees.of[node].total;
  }
  return clusters;
}

// Inline as the loop's own code: a call an edge was a fifth of the pass.
inline void StreamClusters::Move(int64_t node, uint32_t from, uint32_t to) {
  const uint32_t degree = (*degrees_)[node].total;
  if (degree > max_volume_ - volume_[to]) return;
  volume_[from] -= degree;
  volume_[to] += degree;
  cluster_[node] = to;
}

template <ComparedVolume kCompared>
inline void StreamClusters::Join(int64_t u, int64_t v) {
  const uint32_t cluster_u = cluster_[u];
  const uint32_t cluster_v = cluster_[v];
  if (cluster_u == cluster_v) return;
  uint32_t volume_u = volume_[cluster_u];
  uint32_t volume_v = volume_[cluster_v];
  if (volume_u > max_volume_ || volume_v > max_volume_) return;
  if constexpr (kCompared == ComparedVolume::kWithoutNode) {
    volume_u -= (*degrees_)[u].total;
    volume_v -= (*degrees_)[v].total;
  }
  if (volume_u <= volume_v) {
    Move(u, cluster_u, cluster_v);
  } else {
    Move(v, cluster_v, cluster_u);
  }
}

template <ComparedVolume kCompared>
void StreamClusters::JoinEach(const UnionEdges& edges) {
  const size_t count = edges.sources.size();
  for (size_t i = 0; i < count; ++i) {
    AskForEnds(edges, i + kFarAhead, [&](int64_t node) {
      Prefetch(node);
      if constexpr (kCompared == ComparedVolume::kWithoutNode) degrees_->Prefetch(node);
    });
    // Its cluster has come by now, but may change until then: only a hint.
    AskForEnds(edges, i + kNearAhead, [&](int64_t node) { PrefetchVolume(node); });
    Join<kCompared>(edges.sources[i], edges.destinations[i]);
  }
}

void StreamClusters::JoinAll(const UnionEdges& edges) {
  if (compared_ == ComparedVolume::kWhole) {
    JoinEach<ComparedVolume::kWhole>(edges);
  } else {
    JoinEach<ComparedVolume::kWithoutNode>(edges);
  }
}

}  // namespace halograph
