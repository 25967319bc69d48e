#include "partitioner/methods/stream_metis/stream_metis_method.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <malloc.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "partitioner/methods/metis/coarse_partition.h"
#include "partitioner/methods/metis/metis_call.h"
#include "partitioner/methods/stream_metis/clustering.h"
#include "partitioner/methods/stream_metis/coarse_budget.h"
#include "partitioner/methods/stream_metis/coarse_graph.h"
#include "partitioner/methods/stream_metis/node_weights.h"
#include "partitioner/methods/stream_metis/refinement.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {
namespace {

constexpr int kMaxRefinementRounds = 16;

Status CheckOptions(const MethodOptions& options) {
  const StreamMetisOptions& own = options.stream_metis;
  if (own.clusters < 0) {
    return InvalidArgument("stream-metis: {} clusters; give 0 (chosen) or more", own.clusters);
  }
  if (own.refinement_rounds < 0 || own.refinement_rounds > kMaxRefinementRounds) {
    return InvalidArgument("stream-metis: {} refinement rounds are not between 0 and {}",
                           own.refinement_rounds, kMaxRefinementRounds);
  }
  return OkStatus();
}

// Clusters do not fill up: with half as much again as an even share of the volume there are about
// as many as asked for (a quarter less at 2 nodes a cluster, two fifths more at 25). And none is so
// heavy that partitions of whole clusters could not be even.
constexpr double kVolumeFactor = 1.5;
constexpr int64_t kLeastClustersPerPart = 20;
// Nodes of a cluster that is found for the order alone, about; and the fewest that clusters of the
// partitioning have on average to be kept for the order. Smaller ones bring few neighbours
// together.
constexpr int64_t kOrderClusterNodes = 32;
constexpr int64_t kLeastOrderClusterNodes = 8;

int64_t MaxVolume(const Degrees& degrees, int64_t clusters, int parts) {
  const double even = static_cast<double>(degrees.volume) / static_cast<double>(clusters);
  return std::min(static_cast<int64_t>(kVolumeFactor * even),
                  degrees.volume / (kLeastClustersPerPart * parts));
}

StatusOr<Clusters> MakeClusters(const Dataset& dataset, const Degrees& degrees,
                                const CoarseBudget& budget, int parts) {
  if (degrees.connected <= budget.clusters) return SingleNodes(degrees);
  HG_ASSIGN_OR_RETURN(Clusters clusters,
                      ClusterStream(dataset, degrees, MaxVolume(degrees, budget.clusters, parts)));
  HG_RETURN_IF_ERROR(MergeClusters(dataset, degrees, budget.max_clusters, &clusters));
  return clusters;
}

// Order keys: `clusters` of the partitioning, or, where they are empty, clusters found for the
// order in one more pass.
Status AddOrderKeys(const Dataset& dataset, const Degrees& degrees, int parts, Clusters clusters,
                    Assignment* assignment) {
  static_assert(kNoCluster == kNoOrderKey);
  if (clusters.of.size() == 0) {
    const int64_t aim = std::max<int64_t>(degrees.connected / kOrderClusterNodes, 1);
    HG_ASSIGN_OR_RETURN(clusters, ClusterStream(dataset, degrees, MaxVolume(degrees, aim, parts)));
    clusters.volume.Free();
  }
  assignment->order_keys = UnionNodes(dataset).SplitByType<uint32_t>(clusters.of.span());
  assignment->report["order_clusters"] = clusters.count;
  return OkStatus();
}

StatusOr<Assignment> OnePart(const Dataset& dataset, NodeOrder order) {
  Assignment assignment = AllInOnePart(dataset);
  if (order == NodeOrder::kCluster) {
    HG_ASSIGN_OR_RETURN(const Degrees degrees, CountStreamDegrees(dataset));
    HG_RETURN_IF_ERROR(AddOrderKeys(dataset, degrees, 1, {}, &assignment));
  }
  return assignment;
}

// Nodes without neighbours are dealt in turn, each type for itself.
std::vector<uint16_t> Project(const Clusters& clusters, const UnionNodes& nodes,
                              const std::vector<int32_t>& cluster_owners, int parts) {
  std::vector<uint16_t> owners(static_cast<size_t>(nodes.count()));
  for (int type = 0; type < nodes.num_types(); ++type) {
    int next = 0;
    for (int64_t v = nodes.offset(type); v < nodes.offset(type + 1); ++v) {
      const uint32_t cluster = clusters.of[v];
      if (cluster != kNoCluster) {
        owners[static_cast<size_t>(v)] = static_cast<uint16_t>(cluster_owners[cluster]);
        continue;
      }
      owners[static_cast<size_t>(v)] = static_cast<uint16_t>(next);
      next = next + 1 == parts ? 0 : next + 1;
    }
  }
  return owners;
}

constexpr int64_t kLargeGraph = 100'000;

struct CoarseResult {
  std::vector<uint16_t> owners;  // per node
  Json report;
};

StatusOr<CoarseResult> AssignByClusters(const Dataset& dataset, const MethodOptions& options,
                                        const Degrees& degrees, const Clusters& clusters,
                                        const NodeWeights& weights, int64_t max_pairs,
                                        int64_t memory) {
  CoarsePartition partition;
  Json report;
  {
    HG_ASSIGN_OR_RETURN(
        CoarseGraph coarse,
        BuildCoarseGraph(dataset, clusters, weights, degrees.edges, max_pairs, options.seed));
    // A small graph is done before anybody asks.
    const auto level = degrees.connected < kLargeGraph ? spdlog::level::debug : spdlog::level::info;
    spdlog::log(level, "stream-metis: {} nodes in {} clusters, {} pairs of clusters{}",
                FormatCount(degrees.connected), FormatCount(clusters.count),
                FormatCount(coarse.graph.num_arcs() / 2),
                coarse.share < 1 ? fmt::format(" (a sample, {:.0f} %)", 100 * coarse.share) : "");
    HG_ASSIGN_OR_RETURN(partition, PartitionCoarse(&coarse, options.parts, options.seed, memory));
    if (partition.dealt) {
      const bool single = clusters.count == degrees.connected;
      WarnOfDealtOwners("stream-metis", clusters.count, single ? "nodes" : "clusters of nodes",
                        options.parts);
    }
    report = {{"clusters", clusters.count},
              {"pairs", coarse.graph.num_arcs() / 2},
              {"pairs_share", coarse.share},
              {"coarse_cut", partition.cut},
              {"attempts", partition.attempts}};
  }
  // METIS' memory goes back to the system before counters are asked for.
  malloc_trim(0);
  return CoarseResult{Project(clusters, UnionNodes(dataset), partition.owners, options.parts),
                      std::move(report)};
}

// Moves single nodes: to where their neighbours are, and into bounds.
StatusOr<Json> RefineNodes(const RefinedOwners& state, int rounds) {
  Json report = Json::object();
  HG_ASSIGN_OR_RETURN(int64_t balance_moves, BalanceOwners(state));
  HG_ASSIGN_OR_RETURN(const std::vector<RefinementRound> done, Refine(state, rounds));
  HG_ASSIGN_OR_RETURN(const int64_t last_moves, BalanceOwners(state));
  report["balance_moves"] = balance_moves + last_moves;
  report["rounds"] = Json::array();
  for (const RefinementRound& round : done) {
    report["rounds"].push_back({{"cut_before", round.cut}, {"moves", round.moves}});
  }
  report["constraints"] =
      ConstraintReport(state.loads->constraints(), state.loads->parts().Balance());
  return report;
}

}  // namespace

MemoryPlan StreamMetisMethod::PlanMemory(const GraphCounts& counts,
                                         const MethodOptions& options) const {
  return PlanOfBudget(counts, options, ChooseBudget(counts, options));
}

MethodProfile StreamMetisMethod::Profile(const GraphCounts& counts,
                                         const MethodOptions& options) const {
  return {
      .folds_edges = true, .metis_edges = ChooseBudget(counts, options).pairs, .scratch_bytes = 0};
}

// A large graph is clustered, and a small one not at all unless it is asked for.
MethodOptions StreamMetisMethod::ForTrial(const GraphCounts& counts, int64_t nodes,
                                          const MethodOptions& options) const {
  MethodOptions trial = options;
  const int64_t clusters = ChooseBudget(counts, options).clusters;
  if (clusters < counts.num_nodes()) {
    const double share = static_cast<double>(clusters) / static_cast<double>(counts.num_nodes());
    trial.stream_metis.clusters =
        std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(nodes) * share));
  }
  return trial;
}

StatusOr<Assignment> StreamMetisMethod::Assign(const Dataset& dataset,
                                               const MethodOptions& options) const {
  HG_RETURN_IF_ERROR(CheckParts(dataset, options.parts));
  HG_RETURN_IF_ERROR(CheckOptions(options));
  if (options.parts == 1) return OnePart(dataset, options.order);
  const GraphCounts counts = GraphCounts::Of(dataset);
  const CoarseBudget budget = ChooseBudget(counts, options);
  HG_ASSIGN_OR_RETURN(const Degrees degrees, CountStreamDegrees(dataset));
  HG_ASSIGN_OR_RETURN(Clusters clusters, MakeClusters(dataset, degrees, budget, options.parts));
  clusters.volume.Free();
  HG_ASSIGN_OR_RETURN(const NodeWeights weights,
                      NodeWeights::Build(dataset, degrees, options.balance));
  HG_ASSIGN_OR_RETURN(CoarseResult coarse,
                      AssignByClusters(dataset, options, degrees, clusters, weights, budget.pairs,
                                       CoarseMemory(counts, options)));
  const bool ordered = options.order == NodeOrder::kCluster;
  const bool keep = ordered && clusters.count * kLeastOrderClusterNodes <= degrees.connected;
  if (!keep) clusters.of.Free();
  NodeLoads loads(weights, coarse.owners, options.parts);
  HG_ASSIGN_OR_RETURN(Json refined, RefineNodes({.dataset = &dataset,
                                                 .degrees = &degrees,
                                                 .parts = options.parts,
                                                 .counter_bytes = budget.counter_bytes,
                                                 .seed = options.seed,
                                                 .owners = coarse.owners,
                                                 .loads = &loads},
                                                options.stream_metis.refinement_rounds));
  coarse.report.update(refined);
  Assignment assignment;
  assignment.owners = UnionNodes(dataset).SplitByType(coarse.owners);
  assignment.report = std::move(coarse.report);
  if (ordered) {
    HG_RETURN_IF_ERROR(
        AddOrderKeys(dataset, degrees, options.parts, std::move(clusters), &assignment));
  }
  return assignment;
}

}  // namespace halograph
