#include "partitioner/methods/literature/spring.h"

#include <algorithm>

#include "common/base/rng.h"
#include "partitioner/methods/clusters.h"
#include "partitioner/methods/literature/cluster_packing.h"

namespace halograph {
namespace {

// Clusters while they are merged.
class Merging {
 public:
  // `richest`: of each node the neighbour of highest degree; of a node without edges itself.
  [[nodiscard]] static StatusOr<Merging> Make(const EdgeStream& stream, Clusters* clusters,
                                              const NodeArray<uint32_t>& richest) {
    Merging merging;
    merging.stream_ = stream;
    merging.clusters_ = clusters;
    const int64_t nodes = stream.num_nodes();
    HG_ASSIGN_OR_RETURN(merging.richest_, NodeArray<uint32_t>::Make(nodes, "richest neighbours"));
    HG_ASSIGN_OR_RETURN(merging.sizes_, NodeArray<uint32_t>::Make(nodes, "sizes of clusters"));
    HG_ASSIGN_OR_RETURN(merging.joined_, JoinedClusters::Make(nodes));
    for (int64_t node = 0; node < nodes; ++node) {
      if (stream.degrees->of[node].total == 0) continue;
      const uint32_t cluster = clusters->of[node];
      if (merging.sizes_[cluster]++ == 0) merging.richest_[cluster] = richest[node];
      merging.Enrich(cluster, richest[node]);
    }
    return merging;
  }

  // Smallest first. A cluster that others were merged into may be merged in its turn.
  [[nodiscard]] Status MergeAll() {
    HG_ASSIGN_OR_RETURN(auto order, NodeArray<uint32_t>::Make(stream_.num_nodes(), "order"));
    uint32_t* const begin = order.data();
    uint32_t* end = begin;
    for (int64_t c = 0; c < stream_.num_nodes(); ++c) {
      if (sizes_[c] > 0) *end++ = static_cast<uint32_t>(c);
    }
    std::sort(begin, end, [&](uint32_t a, uint32_t b) {
      return sizes_[a] != sizes_[b] ? sizes_[a] < sizes_[b] : a < b;
    });
    for (const uint32_t* c = begin; c != end; ++c) Merge(*c);
    richest_ = {};  // makes place for what comes next
    return OkStatus();
  }

  [[nodiscard]] uint32_t ClusterOf(int64_t node) { return joined_.Root(clusters_->of[node]); }
  [[nodiscard]] ClusterShare Share(int64_t cluster) const {
    if (stream_.degrees->connected == 0) return {};
    const double parts = stream_.parts;
    return {.nodes = sizes_[cluster] * parts / static_cast<double>(stream_.degrees->connected),
            .volume = clusters_->volume[cluster] * parts /
                      (2 * static_cast<double>(stream_.num_edges()))};
  }

 private:
  [[nodiscard]] uint32_t DegreeOf(int64_t node) const { return stream_.degrees->of[node].total; }
  void Enrich(uint32_t cluster, uint32_t node) {
    if (DegreeOf(node) > DegreeOf(richest_[cluster])) richest_[cluster] = node;
  }
  void Merge(uint32_t cluster) {
    const uint32_t target = ClusterOf(richest_[cluster]);
    if (target == cluster) return;
    const ClusterShare a = Share(cluster), b = Share(target);
    const double most = stream_.options.edge_imbalance;
    if (a.nodes + b.nodes > most || a.volume + b.volume > most) return;
    joined_.Join(cluster, target);
    sizes_[target] += sizes_[cluster];
    sizes_[cluster] = 0;
    clusters_->volume[target] += clusters_->volume[cluster];
    clusters_->volume[cluster] = 0;
    Enrich(target, richest_[cluster]);
  }

  EdgeStream stream_;
  Clusters* clusters_ = nullptr;
  NodeArray<uint32_t> richest_, sizes_;  // of a cluster
  JoinedClusters joined_;
};

// Of each node the neighbour of highest degree, the first of equals.
class RichestNeighbours {
 public:
  [[nodiscard]] static StatusOr<RichestNeighbours> Make(const EdgeStream& stream) {
    RichestNeighbours richest;
    richest.degrees_ = &stream.degrees->of;
    HG_ASSIGN_OR_RETURN(richest.of_,
                        NodeArray<uint32_t>::Make(stream.num_nodes(), "richest neighbours"));
    for (int64_t node = 0; node < stream.num_nodes(); ++node) {
      richest.of_[node] = static_cast<uint32_t>(node);
    }
    return richest;
  }
  void VisitAll(const UnionEdges& edges) {
    const size_t count = edges.sources.size();
    for (size_t i = 0; i < count; ++i) {
      AskForEnds(edges, i + kPrefetchEdges, [&](int64_t node) {
        of_.Prefetch(node);
        degrees_->Prefetch(node);
      });
      Visit(edges.sources[i], edges.destinations[i]);
      Visit(edges.destinations[i], edges.sources[i]);
    }
  }
  [[nodiscard]] const NodeArray<uint32_t>& of() const { return of_; }

 private:
  void Visit(int64_t node, int64_t neighbour) {
    // A node that has met none yet is its own richest.
    const bool none = of_[node] == node;
    if (none || (*degrees_)[neighbour].total > (*degrees_)[of_[node]].total) {
      of_[node] = static_cast<uint32_t>(neighbour);
    }
  }

  const NodeArray<NodeDegree>* degrees_ = nullptr;
  NodeArray<uint32_t> of_;
};

}  // namespace

Status Spring::Start(const EdgeStream& stream) {
  HG_ASSIGN_OR_RETURN(auto joined, StreamClusters::Make(*stream.degrees, stream.max_volume(),
                                                        ComparedVolume::kWhole, "spring"));
  StatusOr<RichestNeighbours> richest = RichestNeighbours::Make(stream);
  if (!richest.ok()) return richest.status();
  const auto join = [&](const UnionEdges& edges) {
    joined.JoinAll(edges);
    richest->VisitAll(edges);
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(RepeatUnionEdges(*stream.dataset, "clustering", stream.num_edges(), join));
  HG_ASSIGN_OR_RETURN(Clusters clusters, joined.Take());
  HG_ASSIGN_OR_RETURN(auto merging, Merging::Make(stream, &clusters, richest->of()));
  richest = RichestNeighbours();
  HG_RETURN_IF_ERROR(merging.MergeAll());
  HG_ASSIGN_OR_RETURN(const auto part_of_cluster,
                      PackClusters(stream.num_nodes(), stream.parts, Mix(stream.seed),
                                   [&](int64_t cluster) { return merging.Share(cluster); }));
  HG_ASSIGN_OR_RETURN(part_, NodeArray<uint16_t>::Make(stream.num_nodes(), "partitions of nodes"));
  for (int64_t node = 0; node < stream.num_nodes(); ++node) {
    part_[node] = part_of_cluster[merging.ClusterOf(node)];
  }
  return OkStatus();
}

}  // namespace halograph
