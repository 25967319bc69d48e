#include "partitioner/methods/stream_metis/streaming_clustering.h"

#include <algorithm>
#include <utility>

#include "partitioner/methods/stream_clusters.h"
#include "partitioner/stream/edge_pass.h"

namespace halograph {
namespace {

StatusOr<StreamClusters> OneEach(const Degrees& degrees, int64_t max_volume) {
  return StreamClusters::Make(degrees,
                              static_cast<uint32_t>(std::min<int64_t>(max_volume, kMaxDegree)),
                              ComparedVolume::kWhole, "stream-metis");
}

StatusOr<Clusters> Compacted(StreamClusters joined) {
  Clusters clusters{.of = joined.TakeClusters(), .volume = joined.TakeVolumes()};
  clusters.count = clusters.of.size();
  HG_RETURN_IF_ERROR(CompactClusters(&clusters));
  return clusters;
}

}  // namespace

StatusOr<Clusters> SingleNodes(const Degrees& degrees) {
  HG_ASSIGN_OR_RETURN(StreamClusters single, OneEach(degrees, 0));
  return Compacted(std::move(single));
}

StatusOr<Clusters> ClusterStream(const Dataset& dataset, const Degrees& degrees,
                                 int64_t max_volume) {
  HG_ASSIGN_OR_RETURN(StreamClusters joined, OneEach(degrees, max_volume));
  HG_RETURN_IF_ERROR(
      RepeatUnionEdges(dataset, "clustering", degrees.edges, [&](const UnionEdges& edges) {
        joined.JoinAll(edges);
        return OkStatus();
      }));
  return Compacted(std::move(joined));
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
