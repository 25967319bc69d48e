#include "partitioner/methods/literature/two_phase.h"

#include <algorithm>

#include "common/base/rng.h"
#include "partitioner/methods/literature/cluster_packing.h"

namespace halograph {

struct TwoPhase::PrePartitioning {
  TwoPhase* self;

  void Prefetch(int64_t node) const { self->part_.Prefetch(node); }
  [[nodiscard]] uint16_t Place(int64_t u, int64_t v) const {
    const int part = self->part_[u];
    return part == self->part_[v] ? self->TakeOrPassOn(part, u, v) : kPlacedElsewhere;
  }
};

struct TwoPhase::Scoring {
  TwoPhase* self;

  void Prefetch(int64_t node) const {
    self->part_.Prefetch(node);
    self->clusters_.of.Prefetch(node);
    self->stream_.degrees->of.Prefetch(node);
  }
  [[nodiscard]] uint16_t Place(int64_t u, int64_t v) const {
    if (self->part_[u] == self->part_[v]) return kPlacedElsewhere;
    return self->TakeOrPassOn(self->BetterOf(u, v), u, v);
  }
};

Status TwoPhase::Start(const EdgeStream& stream) {
  stream_ = stream;
  HG_ASSIGN_OR_RETURN(auto joined, StreamClusters::Make(*stream.degrees, stream.max_volume(),
                                                        ComparedVolume::kWithoutNode, "2ps-l"));
  const auto join = [&](const UnionEdges& edges) {
    joined.JoinAll(edges);
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(RepeatUnionEdges(*stream.dataset, "clustering", stream.num_edges(), join));
  HG_ASSIGN_OR_RETURN(clusters_, joined.Take());
  const double even_share =
      2 * static_cast<double>(std::max<int64_t>(1, stream.num_edges())) / stream.parts;
  const auto share = [&](int64_t cluster) {
    return ClusterShare{.nodes = 0, .volume = clusters_.volume[cluster] / even_share};
  };
  HG_ASSIGN_OR_RETURN(const NodeArray<uint16_t> part_of_cluster,
                      PackClusters(stream.num_nodes(), stream.parts, Mix(stream.seed), share));
  HG_ASSIGN_OR_RETURN(part_, NodeArray<uint16_t>::Make(stream.num_nodes(), "partitions of nodes"));
  for (int64_t node = 0; node < stream.num_nodes(); ++node) {
    part_[node] = part_of_cluster[clusters_.of[node]];
  }
  return OkStatus();
}

void TwoPhase::Restart(NodeReplicas* replicas) {
  replicas_ = replicas;
  loads_ = EdgeLoads(stream_.parts, stream_.edge_cap());
}

void TwoPhase::PlaceChunk(int pass, const UnionEdges& edges, std::span<uint16_t> parts) {
  if (pass == 0) {
    PrePartitioning placer{this};
    PlaceEach(&placer, edges, replicas_, parts);
  } else {
    Scoring placer{this};
    PlaceEach(&placer, edges, replicas_, parts);
  }
}

uint16_t TwoPhase::TakeOrPassOn(int part, int64_t u, int64_t v) {
  if (!loads_.HasRoom(part)) {
    const NodeArray<NodeDegree>& degrees = stream_.degrees->of;
    const auto higher = static_cast<uint64_t>(degrees[u].total > degrees[v].total ? u : v);
    const uint64_t hash = SubKey(Mix(stream_.seed), higher);
    part = static_cast<int>(Bounded(hash, static_cast<uint64_t>(stream_.parts)));
    if (!loads_.HasRoom(part)) part = loads_.LeastLoaded(part);
  }
  loads_.Add(part);
  return static_cast<uint16_t>(part);
}

int TwoPhase::BetterOf(int64_t u, int64_t v) const {
  const double degree_u = stream_.degrees->of[u].total;
  const double degree_v = stream_.degrees->of[v].total;
  const double gain_u = 1 + degree_v / (degree_u + degree_v);
  const double gain_v = 1 + degree_u / (degree_u + degree_v);
  const double volume_u = clusters_.volume[clusters_.of[u]];
  const double volume_v = clusters_.volume[clusters_.of[v]];
  const auto score = [&](int part, double volume) {
    return (replicas_->Contains(u, part) ? gain_u : 0) +
           (replicas_->Contains(v, part) ? gain_v : 0) + volume / (volume_u + volume_v);
  };
  const int part_u = part_[u], part_v = part_[v];
  return score(part_u, volume_u) >= score(part_v, volume_v) ? part_u : part_v;
}

}  // namespace halograph
