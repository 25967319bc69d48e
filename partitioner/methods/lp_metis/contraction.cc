#include "partitioner/methods/lp_metis/contraction.h"

#include <algorithm>
#include <utility>

#include "common/base/progress.h"
#include "common/base/rng.h"

namespace halograph {
namespace {

// Sums the entries of one cluster's nodes by cluster, in an array that is cheap to reset.
class ClusterArcs {
 public:
  ClusterArcs(const DiskCsr& graph, const Clustering& clustering)
      : graph_(graph), clustering_(clustering) {
    starts_.assign(static_cast<size_t>(clustering.clusters) + 1, 0);
    for (const uint32_t cluster : clustering.cluster_of) ++starts_[cluster + 1];
    for (size_t c = 1; c < starts_.size(); ++c) starts_[c] += starts_[c - 1];
    members_.resize(clustering.cluster_of.size());
    std::vector<uint32_t> next(starts_.begin(), starts_.end() - 1);
    for (size_t v = 0; v < members_.size(); ++v) {
      members_[next[clustering.cluster_of[v]]++] = static_cast<uint32_t>(v);
    }
    sums_.assign(static_cast<size_t>(clustering.clusters), 0);
  }

  // Calls emit(cluster, sum) for each other cluster that this one has edges with.
  template <typename Emit>
  void ForEach(uint32_t cluster, Emit emit) {
    for (uint32_t i = starts_[cluster]; i < starts_[cluster + 1]; ++i) Add(members_[i], cluster);
    for (const uint32_t other : touched_) emit(other, std::exchange(sums_[other], 0));
    touched_.clear();
  }

 private:
  void Add(uint32_t node, uint32_t cluster) {
    const int64_t end = graph_.offsets()[size_t{node} + 1];
    for (int64_t i = graph_.offsets()[node]; i < end; ++i) {
      const uint32_t other = clustering_.cluster_of[graph_.neighbours()[i]];
      if (other == cluster) continue;
      if (sums_[other] == 0) touched_.push_back(other);
      sums_[other] += graph_.Weight(i);
    }
  }

  const DiskCsr& graph_;
  const Clustering& clustering_;
  std::vector<uint32_t> starts_;  // of each cluster in members_, and the end
  std::vector<uint32_t> members_;
  std::vector<int64_t> sums_;  // per cluster
  std::vector<uint32_t> touched_;
};

// Which pairs of clusters are kept; the same in both directions.
class PairFilter {
 public:
  PairFilter(double share, uint64_t seed)
      : bound_(share < 1 ? static_cast<uint64_t>(share * 0x1p64) : ~uint64_t{0}), key_(Mix(seed)) {}

  [[nodiscard]] bool Keeps(uint32_t a, uint32_t b) const {
    if (bound_ == ~uint64_t{0}) return true;
    return SubKey(key_, uint64_t{std::min(a, b)} << 32 | std::max(a, b)) < bound_;
  }

 private:
  uint64_t bound_;
  uint64_t key_;
};

struct ArcSums {
  int64_t count = 0;
  int64_t weight = 0;
};

// Also fills the starts of the lists, as far as they fit their type.
ArcSums CountArcs(const PairFilter& filter, ClusterArcs* arcs, std::vector<int32_t>* xadj) {
  ArcSums sums;
  for (size_t c = 0; c + 1 < xadj->size(); ++c) {
    const auto cluster = static_cast<uint32_t>(c);
    arcs->ForEach(cluster, [&](uint32_t other, int64_t weight) {
      if (!filter.Keeps(cluster, other)) return;
      ++sums.count;
      sums.weight += weight;
    });
    (*xadj)[c + 1] = static_cast<int32_t>(std::min(sums.count, kMetisLimit));
  }
  return sums;
}

// Room for what a sample by hash has more than its share.
constexpr double kSampleMargin = 0.97;

}  // namespace

StatusOr<CoarseGraph> Contract(const DiskCsr& graph, const Clustering& clustering,
                               const VertexWeights& weights, const ContractionOptions& options) {
  CoarseGraph result;
  result.weights =
      SumOverClusters(weights.constraints, options.max_weight, clustering.clusters,
                      clustering.cluster_of, [&](int64_t node) { return weights.Row(node); });
  result.graph.type_offsets = {0, clustering.clusters};
  result.graph.xadj.assign(static_cast<size_t>(clustering.clusters) + 1, 0);
  ClusterArcs arcs(graph, clustering);
  Progress progress("contracting clusters");
  PairFilter filter(1, options.seed);
  ArcSums sums = CountArcs(filter, &arcs, &result.graph.xadj);
  progress.Advance(clustering.clusters);
  while (sums.count > options.max_arcs) {
    result.share *=
        kSampleMargin * static_cast<double>(options.max_arcs) / static_cast<double>(sums.count);
    filter = PairFilter(result.share, options.seed);
    sums = CountArcs(filter, &arcs, &result.graph.xadj);
  }
  int shift = 0;
  while (sums.weight >> shift > options.max_weight) ++shift;
  const auto count = static_cast<size_t>(sums.count);
  HG_RETURN_IF_ERROR(result.graph.neighbours.Allocate(count, "lp-metis: pairs of clusters"));
  result.graph.weights.resize(count);
  size_t place = 0;
  for (uint32_t c = 0; c < clustering.clusters; ++c) {
    arcs.ForEach(c, [&](uint32_t other, int64_t sum) {
      if (!filter.Keeps(c, other)) return;
      result.graph.neighbours.data()[place] = other;
      result.graph.weights[place++] = static_cast<int32_t>(std::max<int64_t>(sum >> shift, 1));
    });
  }
  return result;
}

}  // namespace halograph
