#include "partitioner/methods/stream_metis/clustering.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "common/base/units.h"
#include "partitioner/methods/stream_clusters.h"
#include "partitioner/stream/ahead.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {

StatusOr<Degrees> CountStreamDegrees(const Dataset& dataset) {
  const int64_t nodes = UnionNodes(dataset).count();
  if (nodes > kMaxStreamNodes) {
    return ResourceExhausted(
        "stream-metis: {} nodes are more than its 32-bit ids hold ({}); use --method random",
        FormatCount(nodes), FormatCount(kMaxStreamNodes));
  }
  return CountDegrees(dataset, SelfLoops::kIgnored);
}

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

namespace {

struct Favourite {
  uint32_t candidate = kNoCluster;
  // Votes that are not yet outvoted; later: the last cluster that found this one full.
  uint32_t count = 0;

  void For(uint32_t cluster) {
    if (candidate == cluster) {
      count += count < kMaxDegree ? 1 : 0;
    } else if (count == 0) {
      candidate = cluster;
      count = 1;
    } else {
      --count;
    }
  }
};

class Merger {
 public:
  Merger(int64_t max_clusters, Clusters* clusters, JoinedClusters joined)
      : max_clusters_(max_clusters), clusters_(clusters), joined_(std::move(joined)) {}

  Status Vote(const Dataset& dataset, const Degrees& degrees);
  void JoinFavourites(int64_t cap);
  // Until there are few enough.
  void Pack();
  [[nodiscard]] bool Done() const { return clusters_->count <= max_clusters_ + gone_; }
  Status Apply();

 private:
  // Calls visit(cluster) for those that are left until Done: volumes of 1, then 2 to 3, 4 to 7, and
  // so on, which is nearly by size and takes no memory. One that grows is visited again.
  template <typename Visit>
  void BySize(Visit visit) const;
  // `a` becomes part of `b`, both roots, if that keeps the cap.
  bool JoinUnder(int64_t cap, uint32_t a, uint32_t b);

  int64_t max_clusters_;
  Clusters* clusters_;
  JoinedClusters joined_;
  NodeArray<Favourite> votes_;
  int64_t gone_ = 0;
};

Status Merger::Vote(const Dataset& dataset, const Degrees& degrees) {
  HG_ASSIGN_OR_RETURN(votes_, NodeArray<Favourite>::Make(clusters_->count, "votes of clusters"));
  std::ranges::fill(votes_.span(), Favourite{});
  const uint32_t* of = clusters_->of.data();
  const auto vote = [&](const UnionEdges& edges) {
    for (size_t i = 0; i < edges.sources.size(); ++i) {
      PrefetchEnds(edges, i + kFarAhead, of);
      if (of[edges.sources[i]] == of[edges.destinations[i]]) continue;
      const uint32_t a = joined_.Root(of[edges.sources[i]]);
      const uint32_t b = joined_.Root(of[edges.destinations[i]]);
      if (a == b) continue;
      votes_[a].For(b);
      votes_[b].For(a);
    }
    return OkStatus();
  };
  return RepeatUnionEdges(dataset, "merging clusters", degrees.edges, vote);
}

template <typename Visit>
void Merger::BySize(Visit visit) const {
  for (unsigned bits = 1; bits < 32; ++bits) {
    for (int64_t c = 0; c < clusters_->count; ++c) {
      if (std::bit_width(clusters_->volume[c]) != bits) continue;
      if (Done()) return;
      visit(static_cast<uint32_t>(c));
    }
  }
}

bool Merger::JoinUnder(int64_t cap, uint32_t a, uint32_t b) {
  uint32_t& from = clusters_->volume[a];
  uint32_t& to = clusters_->volume[b];
  if (int64_t{from} + to > std::min<int64_t>(cap, kMaxDegree)) return false;
  to += std::exchange(from, 0);
  joined_.Join(a, b);
  ++gone_;
  return true;
}

void Merger::JoinFavourites(int64_t cap) {
  for (Favourite& vote : votes_.span()) vote.count = kNoCluster;
  BySize([&](uint32_t a) {
    if (votes_[a].candidate == kNoCluster) return;
    const uint32_t favourite = joined_.Root(votes_[a].candidate);
    if (favourite == a || JoinUnder(cap, a, favourite)) return;
    const uint32_t other = std::exchange(votes_[favourite].count, a);
    if (other == kNoCluster) return;
    // What waited may have been joined by others since.
    const uint32_t root = joined_.Root(other);
    if (root != a && JoinUnder(cap, a, root)) votes_[favourite].count = root;
  });
}

void Merger::Pack() {
  // Each joins the next of about its size, which halves their number; as often as it takes.
  for (int64_t before = -1; !Done() && gone_ != before;) {
    before = gone_;
    uint32_t last = kNoCluster;
    BySize([&](uint32_t a) {
      if (last == kNoCluster || last == a || !JoinUnder(kMaxDegree, last, a)) {
        last = a;
      } else {
        last = kNoCluster;
      }
    });
  }
}

Status Merger::Apply() {
  for (uint32_t& cluster : clusters_->of.span()) {
    if (cluster != kNoCluster) cluster = joined_.Root(cluster);
  }
  return CompactClusters(clusters_);
}

}  // namespace

Status MergeClusters(const Dataset& dataset, const Degrees& degrees, int64_t max_clusters,
                     Clusters* clusters) {
  if (clusters->count <= max_clusters) return OkStatus();
  HG_ASSIGN_OR_RETURN(JoinedClusters joined, JoinedClusters::Make(clusters->count));
  Merger merger(max_clusters, clusters, std::move(joined));
  int64_t cap = 2 * (degrees.volume / max_clusters + 1);
  for (int pass = 0; pass < kMaxMergePasses && !merger.Done(); ++pass, cap *= 2) {
    HG_RETURN_IF_ERROR(merger.Vote(dataset, degrees));
    merger.JoinFavourites(cap);
  }
  merger.Pack();
  return merger.Apply();
}

}  // namespace halograph
