#include "partitioner/methods/metis/coarse_partition.h"

#include <utility>

#include "common/base/rng.h"
#include "partitioner/methods/metis/metis_call.h"

namespace halograph {
namespace {

constexpr MetisImbalance kAims = {.nodes = 1.02F, .edges = 1.05F};
// Up to so many arcs METIS takes about a second.
constexpr int64_t kFewCoarseArcs = int64_t{1} << 20;
constexpr int kCoarseAttempts = 4;

}  // namespace

StatusOr<CoarsePartition> PartitionCoarse(const CoarseGraph& coarse, int parts, uint64_t seed) {
  const int attempts = coarse.graph.num_arcs() <= kFewCoarseArcs ? kCoarseAttempts : 1;
  MetisAttempt best;
  for (int i = 0; i < attempts; ++i) {
    HG_ASSIGN_OR_RETURN(MetisAttempt other,
                        AttemptMetis(coarse.graph, coarse.weights, parts,
                                     SubKey(seed, static_cast<uint64_t>(i)), kAims));
    if (i == 0 || other.BetterThan(best)) best = std::move(other);
  }
  return CoarsePartition{std::move(best.owners), best.cut, attempts};
}

}  // namespace halograph
