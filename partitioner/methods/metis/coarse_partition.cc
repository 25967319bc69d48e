#include "partitioner/methods/metis/coarse_partition.h"

#include <algorithm>
#include <utility>

#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/base/units.h"
#include "partitioner/methods/metis/metis_call.h"

namespace halograph {
namespace {

constexpr MetisImbalance kAims = {.nodes = 1.02F, .edges = 1.05F};
// Up to so many arcs METIS takes about a second.
constexpr int64_t kFewCoarseArcs = int64_t{1} << 20;
constexpr int kCoarseAttempts = 4;
// Keys below the seed's: those below are the attempts'.
constexpr uint64_t kThinning = uint64_t{1} << 32;

StatusOr<CoarsePartition> TryPartition(const CoarseGraph& coarse, int parts, uint64_t seed,
                                       int64_t memory) {
  const int64_t room = MemoryLeft(memory, InputBytes(coarse.graph, coarse.weights));
  const int attempts = coarse.graph.num_arcs() <= kFewCoarseArcs ? kCoarseAttempts : 1;
  MetisAttempt best;
  for (int i = 0; i < attempts; ++i) {
    HG_ASSIGN_OR_RETURN(MetisAttempt other,
                        AttemptMetis(coarse.graph, coarse.weights, parts,
                                     SubKey(seed, static_cast<uint64_t>(i)), kAims, room));
    if (i == 0 || other.BetterThan(best)) best = std::move(other);
  }
  return CoarsePartition{std::move(best.owners), best.cut, attempts, best.dealt};
}

}  // namespace

void ThinPairs(uint64_t key, CoarseGraph* coarse) {
  FoldedGraph& graph = coarse->graph;
  uint32_t* const neighbours = graph.neighbours.data();
  size_t kept = 0, begin = 0;
  for (int64_t v = 0; v < graph.num_nodes(); ++v) {
    const auto end = static_cast<size_t>(graph.xadj[static_cast<size_t>(v) + 1]);
    for (size_t i = begin; i < end; ++i) {
      const uint64_t a = std::min(static_cast<uint64_t>(v), uint64_t{neighbours[i]});
      const uint64_t b = std::max(static_cast<uint64_t>(v), uint64_t{neighbours[i]});
      if (Mix((a << 32 | b) ^ key) % 4 == 0) continue;
      neighbours[kept] = neighbours[i];
      if (!graph.weights.empty()) graph.weights[kept] = graph.weights[i];
      ++kept;
    }
    begin = end;
    graph.xadj[static_cast<size_t>(v) + 1] = static_cast<int32_t>(kept);
  }
  graph.neighbours.ShrinkTo(kept);
  if (!graph.weights.empty()) {
    graph.weights.resize(kept);
    graph.weights.shrink_to_fit();
  }
  coarse->share *= 0.75;
}

StatusOr<CoarsePartition> PartitionCoarse(CoarseGraph* coarse, int parts, uint64_t seed,
                                          int64_t memory) {
  for (uint64_t tries = 0;; ++tries) {
    StatusOr<CoarsePartition> partition = TryPartition(*coarse, parts, seed, memory);
    const bool enough = coarse->graph.num_arcs() > 2 * coarse->graph.num_nodes();
    if (memory == kAnyMemory || !absl::IsResourceExhausted(partition.status()) || !enough) {
      return partition;
    }
    const int64_t pairs = coarse->graph.num_arcs() / 2;
    const int64_t room = MemoryLeft(memory, InputBytes(coarse->graph, coarse->weights));
    ThinPairs(SubKey(seed, kThinning + tries), coarse);
    spdlog::info(
        "{} pairs of clusters take METIS more than the {} that --memory leaves it; trying "
        "with {}",
        FormatCount(pairs), FormatBytes(room), FormatCount(coarse->graph.num_arcs() / 2));
  }
}

}  // namespace halograph
