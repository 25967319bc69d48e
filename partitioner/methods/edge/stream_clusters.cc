#include "partitioner/methods/edge/stream_clusters.h"

#include <algorithm>
#include <limits>

#include "common/base/units.h"

namespace halograph {

StatusOr<StreamClusters> StreamClusters::Make(const EdgeStream& stream, uint32_t max_volume,
                                              ComparedVolume compared, std::string_view what) {
  const int64_t nodes = stream.num_nodes();
  if (nodes > std::numeric_limits<uint32_t>::max()) {
    return ResourceExhausted(
        "{}: {} nodes, but clusters are numbered with 32 bits; use --method dbh, hdrf or random",
        what, FormatCount(nodes));
  }
  StreamClusters clusters;
  clusters.degrees_ = &stream.degrees->of;
  clusters.max_volume_ = max_volume;
  clusters.compared_ = compared;
  HG_ASSIGN_OR_RETURN(clusters.cluster_, NodeArray<uint32_t>::Make(nodes, "clusters of nodes"));
  HG_ASSIGN_OR_RETURN(clusters.volume_, NodeArray<uint32_t>::Make(nodes, "volumes of clusters"));
  for (int64_t node = 0; node < nodes; ++node) {
    clusters.cluster_[node] = static_cast<uint32_t>(node);
    clusters.volume_[node] = stream.degrees->of[node].total;
  }
  return clusters;
}

void StreamClusters::JoinAll(const UnionEdges& edges) {
  const size_t count = edges.sources.size();
  for (size_t i = 0; i < count; ++i) {
    AskForEnds(edges, i + 2 * kPrefetchEdges, [&](int64_t node) {
      Prefetch(node);
      degrees_->Prefetch(node);
    });
    // Its cluster has come by now.
    AskForEnds(edges, i + kPrefetchEdges, [&](int64_t node) { PrefetchVolume(node); });
    Join(edges.sources[i], edges.destinations[i]);
  }
}

uint32_t MaxVolume(const EdgeStream& stream, double factor) {
  const double share = static_cast<double>(stream.num_edges()) / stream.parts;
  return static_cast<uint32_t>(
      std::clamp(factor * share, 1.0, static_cast<double>(std::numeric_limits<uint32_t>::max())));
}

}  // namespace halograph
