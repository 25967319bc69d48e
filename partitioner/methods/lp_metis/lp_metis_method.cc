#include "partitioner/methods/lp_metis/lp_metis_method.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <malloc.h>

#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/base/units.h"
#include "partitioner/methods/lp_metis/contraction.h"
#include "partitioner/methods/lp_metis/disk_csr.h"
#include "partitioner/methods/lp_metis/label_propagation.h"
#include "partitioner/methods/lp_metis/refinement.h"
#include "partitioner/methods/metis/coarse_partition.h"
#include "partitioner/methods/metis/metis_call.h"
#include "partitioner/methods/metis/vertex_weights.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {
namespace {

// Clusters as large as this give METIS' quality; five times larger ones cost 7 % of the cut on a
// planted partition.
constexpr int64_t kLeastClusters = 5000;
constexpr int64_t kLeastClustersPerPart = 200;
// In a trial: METIS is not called for much fewer (AttemptMetis).
constexpr int64_t kTrialClustersPerPart = 20;
// Each further round takes as long as the first and changes the result by less than a per cent,
// which refinement makes up for.
constexpr int kPropagationRounds = 2;
constexpr int kRefinementRounds = 8;
// Of the graph of the clusters, both directions together: METIS is given no more than it can take
// in minutes. stream-metis has the same bound.
constexpr int64_t kMostArcs = int64_t{80} << 20;
// Of a graph's edges those between clusters, measured: 0.35 to 0.37 of a planted and of a
// hierarchical one of a million nodes.
constexpr int64_t kEdgesAPair = 3;
constexpr int64_t kOffsetAndClusterBytes = 12;  // a node
// A smaller graph is done before anybody asks.
constexpr int64_t kLargeGraph = 100'000;
// Nodes of a cluster that is found for the order alone. Smaller clusters bring few neighbours
// together.
constexpr int64_t kOrderClusterNodes = 32;

// Keys below the seed's.
enum Purpose : uint64_t { kPropagation, kMetis, kRefinement, kSample, kOrder };

// Weights of the nodes under the bounds that are kept at the end.
StatusOr<VertexWeights> WeighNodes(const Dataset& dataset, const BalanceOptions& balance,
                                   DiskCsr* graph) {
  FoldedGraph counts;  // only what weights are made of
  counts.type_offsets = UnionNodes(dataset).offsets();
  counts.in_degrees = graph->TakeInDegrees();
  HG_ASSIGN_OR_RETURN(
      VertexWeights weights,
      BuildVertexWeights(dataset, counts, balance, std::numeric_limits<int64_t>::max()));
  for (Constraint& constraint : weights.constraints) {
    constraint.tolerance = TightTolerance(constraint.name);
  }
  return weights;
}

struct Projected {
  std::vector<int32_t> owners;       // per node
  std::vector<uint32_t> cluster_of;  // per node; only for NodeOrder::kCluster
  Json report;
};

// Clusters for the order of nodes, where there are none yet.
void FindOrderClusters(const DiskCsr& graph, const MethodOptions& options, Projected* projected) {
  if (!projected->cluster_of.empty()) return;
  Clustering clustering = PropagateLabels(graph, {.max_nodes = kOrderClusterNodes,
                                                  .rounds = kPropagationRounds,
                                                  .seed = SubKey(options.seed, kOrder)});
  projected->cluster_of = std::move(clustering.cluster_of);
  projected->report["order_clusters"] = clustering.clusters;
}

// Clusters, METIS on their graph, and the clusters' owners for their nodes.
StatusOr<Projected> PartitionClusters(const DiskCsr& graph, const VertexWeights& weights,
                                      const MethodOptions& options) {
  const int64_t asked = options.lp_metis.cluster_nodes;
  const int64_t most = asked > 0 ? asked : MaxClusterNodes(graph.num_nodes(), options.parts);
  Clustering clustering = PropagateLabels(graph, {.max_nodes = most,
                                                  .rounds = kPropagationRounds,
                                                  .seed = SubKey(options.seed, kPropagation)});
  HG_ASSIGN_OR_RETURN(CoarseGraph coarse,
                      Contract(graph, clustering, weights,
                               {.max_arcs = kMostArcs, .seed = SubKey(options.seed, kSample)}));
  const int64_t held = kOffsetAndClusterBytes * graph.num_nodes() +
                       static_cast<int64_t>(sizeof(int32_t) * weights.values.size());
  const int64_t room = MemoryLeft(options.memory, kProgramBytes + held);
  const bool small = graph.num_nodes() < kLargeGraph;
  spdlog::log(
      small ? spdlog::level::debug : spdlog::level::info,
      "lp-metis: {} nodes, {} pairs of neighbours; METIS partitions {} clusters with {} pairs",
      FormatCount(graph.num_nodes()), FormatCount(graph.num_arcs() / 2),
      FormatCount(clustering.clusters), FormatCount(coarse.graph.num_arcs() / 2));
  HG_ASSIGN_OR_RETURN(const CoarsePartition partition,
                      PartitionCoarse(&coarse, options.parts, SubKey(options.seed, kMetis), room));
  if (partition.dealt) {
    const bool single = clustering.clusters == graph.num_nodes();
    WarnOfDealtOwners("lp-metis", clustering.clusters, single ? "nodes" : "clusters of nodes",
                      options.parts);
  }
  Projected projected;
  projected.owners.resize(clustering.cluster_of.size());
  for (size_t v = 0; v < projected.owners.size(); ++v) {
    projected.owners[v] = partition.owners[clustering.cluster_of[v]];
  }
  projected.report = {{"folded_edges", graph.num_arcs() / 2}, {"clusters", clustering.clusters},
                      {"pairs", coarse.graph.num_arcs() / 2}, {"pairs_share", coarse.share},
                      {"coarse_cut", partition.cut},          {"attempts", partition.attempts}};
  const bool keep = asked > 1 || most >= kOrderClusterNodes;
  if (options.order == NodeOrder::kCluster && keep) {
    projected.cluster_of = std::move(clustering.cluster_of);
    projected.report["order_clusters"] = clustering.clusters;
  }
  return projected;
}

// Into bounds, to the neighbours, and into bounds again, which the second step keeps.
void MoveNodes(const DiskCsr& graph, const VertexWeights& weights, const MethodOptions& options,
               Projected* projected) {
  PartLoads loads(weights, projected->owners, options.parts);
  RefinementOptions refinement{.parts = options.parts,
                               .rounds = kRefinementRounds,
                               .seed = SubKey(options.seed, kRefinement)};
  Json& report = projected->report;
  report["balance_moves"] = Repair(graph, weights, refinement, &projected->owners, &loads);
  report["refined_nodes"] = Refine(graph, weights, refinement, &projected->owners, &loads);
  report["objective"] = CutWeight(graph, projected->owners);
  report["constraints"] = ConstraintReport(weights.constraints, loads.Balance());
}

// All that makes owners.
StatusOr<Projected> PartitionNodes(const Dataset& dataset, const MethodOptions& options,
                                   DiskCsr* graph) {
  if (options.parts == 1) {
    return Projected{std::vector<int32_t>(static_cast<size_t>(graph->num_nodes()), 0), {}, {}};
  }
  HG_ASSIGN_OR_RETURN(const VertexWeights weights, WeighNodes(dataset, options.balance, graph));
  HG_ASSIGN_OR_RETURN(Projected projected, PartitionClusters(*graph, weights, options));
  malloc_trim(0);
  MoveNodes(*graph, weights, options, &projected);
  return projected;
}

}  // namespace

int64_t MaxClusterNodes(int64_t nodes, int parts) {
  const int64_t least = std::max<int64_t>(kLeastClusters, kLeastClustersPerPart * parts);
  return std::max<int64_t>(1, nodes / least);
}

MemoryPlan LpMetisMethod::PlanMemory(const GraphCounts& counts,
                                     const MethodOptions& options) const {
  const int64_t nodes = counts.num_nodes();
  constexpr int64_t kInt = sizeof(int32_t);
  const int64_t weights = kInt * nodes * MostConstraints(counts, options.balance);
  const int64_t lists = 2 * kInt * std::min(2 * counts.num_edges(), kMostArcs);
  MemoryPlan plan = {
      {{"gathering neighbours",
        {{"offsets and degrees", 12 * nodes}, {"edge chunks", kEdgePassBytes}}},
       {"clustering",
        {{"offsets", 8 * nodes}, {"node weights", weights}, {"labels and sizes", 12 * nodes}}},
       {"metis on clusters",
        {{"offsets and clusters", kOffsetAndClusterBytes * nodes},
         {"node weights", weights},
         {"pairs of clusters", lists},
         {"inside METIS (estimate)", lists / 2 * 5}}},
       {"refining", {{"offsets", 8 * nodes}, {"node weights", weights}, {"owners", 8 * nodes}}}}};
  if (options.order == NodeOrder::kCluster) {
    plan.phases.back().held.push_back({"clusters", 4 * nodes});
    plan.phases.push_back(
        {"clusters for the order",
         {{"offsets", 8 * nodes}, {"owners", 4 * nodes}, {"labels and sizes", 12 * nodes}}});
    plan.phases.push_back(
        {"order keys",
         {{"offsets", 8 * nodes}, {"owners", 6 * nodes}, {"clusters and keys", 8 * nodes}}});
  }
  return plan;
}

MethodProfile LpMetisMethod::Profile(const GraphCounts& counts,
                                     const MethodOptions& /*options*/) const {
  return {.folds_edges = true,
          .metis_edges = counts.num_edges() / kEdgesAPair,
          .scratch_bytes = DiskCsr::ScratchBytes(counts.num_edges())};
}

MethodOptions LpMetisMethod::ForTrial(const GraphCounts& counts, int64_t nodes,
                                      const MethodOptions& options) const {
  MethodOptions trial = options;
  if (options.lp_metis.cluster_nodes > 0) return trial;
  const int64_t most = std::max<int64_t>(1, nodes / (kTrialClustersPerPart * options.parts));
  trial.lp_metis.cluster_nodes = std::min(MaxClusterNodes(counts.num_nodes(), options.parts), most);
  return trial;
}

StatusOr<Assignment> LpMetisMethod::Assign(const Dataset& dataset,
                                           const MethodOptions& options) const {
  HG_RETURN_IF_ERROR(CheckParts(dataset, options.parts));
  const bool ordered = options.order == NodeOrder::kCluster;
  if (options.parts == 1 && !ordered) return AllInOnePart(dataset);
  Assignment assignment;
  {
    HG_ASSIGN_OR_RETURN(DiskCsr graph,
                        DiskCsr::Build(dataset, {.scratch = options.scratch,
                                                 .drop_duplicates = options.drop_duplicates}));
    HG_ASSIGN_OR_RETURN(Projected projected, PartitionNodes(dataset, options, &graph));
    if (ordered) {
      FindOrderClusters(graph, options, &projected);
      assignment.order_keys = UnionNodes(dataset).SplitByType<uint32_t>(projected.cluster_of);
    }
    assignment.report = std::move(projected.report);
    assignment.owners = UnionNodes(dataset).SplitByType(projected.owners);
  }
  // What was freed goes back to the system before the writer starts.
  malloc_trim(0);
  return assignment;
}

}  // namespace halograph
