#include "partitioner/methods/stream_clusters.h"

#include <limits>
#include <utility>

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
  clusters.max_volume_ = max_volume;
  clusters.compared_ = compared;
  HG_ASSIGN_OR_RETURN(clusters.members_, NodeArray<Member>::Make(nodes, "clusters of nodes"));
  HG_ASSIGN_OR_RETURN(clusters.volume_, NodeArray<uint32_t>::Make(nodes, "volumes of clusters"));
  for (int64_t node = 0; node < nodes; ++node) {
    const uint32_t degree = degrees.of[node].total;
    clusters.members_[node] = {.cluster = static_cast<uint32_t>(node), .degree = degree};
    clusters.volume_[node] = degree;
  }
  return clusters;
}

// Inline as the loop's own code: a call an edge was a fifth of the pass.
inline void StreamClusters::Move(Member* member, uint32_t to) {
  const uint32_t degree = member->degree;
  if (degree > max_volume_ - volume_[to]) return;
  volume_[member->cluster] -= degree;
  volume_[to] += degree;
  member->cluster = to;
}

template <ComparedVolume kCompared>
inline void StreamClusters::Join(Member* u, Member* v) {
  if (u->cluster == v->cluster) return;
  uint32_t volume_u = volume_[u->cluster];
  uint32_t volume_v = volume_[v->cluster];
  if (volume_u > max_volume_ || volume_v > max_volume_) return;
  if constexpr (kCompared == ComparedVolume::kWithoutNode) {
    volume_u -= u->degree;
    volume_v -= v->degree;
  }
  if (volume_u <= volume_v) {
    Move(u, v->cluster);
  } else {
    Move(v, u->cluster);
  }
}

template <ComparedVolume kCompared>
void StreamClusters::JoinEach(const UnionEdges& edges) {
  const size_t count = edges.sources.size();
  for (size_t i = 0; i < count; ++i) {
    PrefetchEnds(edges, i + kFarAhead, members_.data());
    // Its cluster has come by now, but may change until then: only a hint.
    AskForEnds(edges, i + kNearAhead,
               [&](int64_t node) { volume_.Prefetch(members_[node].cluster); });
    Join<kCompared>(&members_[edges.sources[i]], &members_[edges.destinations[i]]);
  }
}

void StreamClusters::JoinAll(const UnionEdges& edges) {
  if (compared_ == ComparedVolume::kWhole) {
    JoinEach<ComparedVolume::kWhole>(edges);
  } else {
    JoinEach<ComparedVolume::kWithoutNode>(edges);
  }
}

StatusOr<Clusters> StreamClusters::Take() {
  Clusters taken;
  HG_ASSIGN_OR_RETURN(taken.of, NodeArray<uint32_t>::Make(members_.size(), "clusters of nodes"));
  for (int64_t node = 0; node < members_.size(); ++node) taken.of[node] = members_[node].cluster;
  taken.count = members_.size();
  members_.Free();
  taken.volume = std::move(volume_);
  return taken;
}

}  // namespace halograph
