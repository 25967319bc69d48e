#include "partitioner/methods/stream_metis/streaming_clustering.h"

#include <algorithm>

#include "partitioner/methods/stream_clusters.h"
#include "partitioner/stream/edge_pass.h"

namespace halograph {

StatusOr<Clusters> SingleNodes(const Degrees& degrees) {
  const int64_t nodes = degrees.num_nodes();
  Clusters clusters;
  HG_ASSIGN_OR_RETURN(clusters.of, NodeArray<uint32_t>::Make(nodes, "clusters of nodes"));
  HG_ASSIGN_OR_RETURN(clusters.volume, NodeArray<uint32_t>::Make(nodes, "volumes of clusters"));
  for (int64_t node = 0; node < nodes; ++node) {
    const uint32_t degree = degrees.of[node].total;
    clusters.of[node] = degree > 0 ? static_cast<uint32_t>(clusters.count) : kNoCluster;
    if (degree > 0) clusters.volume[clusters.count++] = degree;
  }
  return clusters;
}

StatusOr<Clusters> ClusterStream(const Dataset& dataset, const Degrees& degrees,
                                 int64_t max_volume) {
  HG_ASSIGN_OR_RETURN(StreamClusters joined,
                      StreamClusters::Make(
                          degrees, static_cast<uint32_t>(std::min<int64_t>(max_volume, kMaxDegree)),
                          ComparedVolume::kWhole, "stream-metis"));
  HG_RETURN_IF_ERROR(
      RepeatUnionEdges(dataset, "clustering", degrees.edges, [&](const UnionEdges& edges) {
        joined.JoinAll(edges);
        return OkStatus();
      }));
  HG_ASSIGN_OR_RETURN(Clusters clusters, joined.Take());
  HG_RETURN_IF_ERROR(CompactClusters(&clusters));
  return clusters;
}

}  // namespace halograph
