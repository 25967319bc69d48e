#include "partitioner/methods/clusters.h"

namespace halograph {

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
