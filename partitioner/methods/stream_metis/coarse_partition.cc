#include "partitioner/methods/stream_metis/coarse_partition.h"

#include <utility>

#include "common/base/rng.h"
#include "partitioner/methods/metis_call.h"
#include "partitioner/methods/random_method.h"
#include "partitioner/methods/rebalance.h"

namespace halograph {
namespace {

constexpr MetisImbalance kAims = {.nodes = 1.02F, .edges = 1.05F};
// With fewer METIS leaves partitions empty.
constexpr int64_t kClustersPerPart = 8;
// Up to so many arcs METIS takes about a second.
constexpr int64_t kSmallArcs = int64_t{1} << 20;
constexpr int kAttempts = 4;
constexpr int kRebalanceRounds = 30;

int64_t Cut(const FoldedGraph& graph, const std::vector<int32_t>& owners) {
  int64_t cut = 0;
  for (size_t v = 0; v < owners.size(); ++v) {
    for (auto i = static_cast<size_t>(graph.xadj[v]); i < static_cast<size_t>(graph.xadj[v + 1]);
         ++i) {
      if (owners[graph.neighbours.data()[i]] != owners[v]) cut += graph.weights[i];
    }
  }
  return cut / 2;
}

StatusOr<CoarsePartition> Attempt(const CoarseGraph& coarse, int parts, uint64_t seed) {
  CoarsePartition result;
  const int64_t clusters = coarse.graph.num_nodes();
  if (coarse.graph.num_arcs() > 0 && clusters >= kClustersPerPart * parts) {
    HG_ASSIGN_OR_RETURN(result.owners, CallMetis(coarse.graph, coarse.weights, parts, seed, kAims));
  } else {
    const std::vector<uint16_t> dealt = DealOwners(clusters, parts, Mix(seed));
    result.owners.assign(dealt.begin(), dealt.end());
  }
  PartLoads loads(coarse.weights, result.owners, parts);
  Rebalance(coarse.graph, coarse.weights, parts, kRebalanceRounds, &result.owners, &loads);
  result.excess = loads.Excess();
  result.cut = Cut(coarse.graph, result.owners);
  return result;
}

}  // namespace

StatusOr<CoarsePartition> PartitionCoarse(const CoarseGraph& coarse, int parts, uint64_t seed) {
  const int attempts = coarse.graph.num_arcs() <= kSmallArcs ? kAttempts : 1;
  CoarsePartition best;
  for (int i = 0; i < attempts; ++i) {
    HG_ASSIGN_OR_RETURN(CoarsePartition other,
                        Attempt(coarse, parts, SubKey(seed, static_cast<uint64_t>(i))));
    if (i == 0 || std::pair(other.excess, other.cut) < std::pair(best.excess, best.cut)) {
      best = std::move(other);
    }
  }
  best.attempts = attempts;
  return best;
}

}  // namespace halograph
