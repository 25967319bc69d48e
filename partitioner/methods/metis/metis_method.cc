#include "partitioner/methods/metis/metis_method.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <malloc.h>

#include "common/base/log.h"
#include "common/base/progress.h"
#include "common/base/rng.h"
#include "common/base/units.h"
#include "partitioner/methods/metis/folded_graph.h"
#include "partitioner/methods/metis/metis_call.h"
#include "partitioner/methods/metis/vertex_weights.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {
namespace {

// A small graph is tried with several seeds until all bounds hold: it costs nothing. A large one
// is only rebalanced.
constexpr int64_t kSmallArcs = int64_t{4} << 20;
constexpr int kAttempts = 5;

Json Report(const FoldedGraph& graph, const VertexWeights& weights, const MetisAttempt& result,
            int attempts) {
  return {{"folded_edges", graph.num_arcs() / 2},
          {"objective", result.cut},
          {"attempts", attempts},
          {"rebalanced_nodes", result.moves},
          {"constraints", ConstraintReport(weights.constraints, result.balance)}};
}

// What METIS holds a node beside pairs, all levels together; measured where MetisLevels is.
constexpr int64_t kMetisNodeBytes = 60;

constexpr int64_t kOwnerBytes = sizeof(int32_t);

// Weights of the finest pairs, then neighbours and weights a level.
int64_t InsideMetis(int64_t nodes, int64_t arcs) {
  constexpr double kInt = sizeof(int32_t);
  const double levels = MetisLevels(nodes, arcs);
  return static_cast<int64_t>(static_cast<double>(arcs) * (kInt + 2 * kInt * levels));
}

}  // namespace

// METIS keeps every level of its coarsening, each with half the nodes but, in a graph that is
// random on the small scale, hardly fewer pairs of neighbours, until there are so few nodes that
// pairs meet. Measured on planted, hierarchical and social graphs of 37 thousand to a million
// nodes.
double MetisLevels(int64_t nodes, int64_t arcs) {
  if (nodes < 1) return 2;
  const double meeting = 8 * std::sqrt(static_cast<double>(std::max<int64_t>(arcs, 1)));
  return 2 + std::max(0.0, std::log2(static_cast<double>(nodes) / meeting));
}

MemoryPlan MetisMethod::PlanMemory(const GraphCounts& counts, const MethodOptions& options) const {
  const int64_t nodes = counts.num_nodes();
  // As if no two edges folded into one, which only reading them would tell.
  const int64_t arcs = 2 * counts.num_edges();
  constexpr int64_t kInt = sizeof(int32_t);
  const int64_t weights = kInt * nodes * MostConstraints(counts, options.balance);
  return {{{"folding edges",
            {{"neighbours", kInt * arcs},
             {"offsets and degrees", 12 * nodes},
             {"edge chunks", kEdgePassBytes}}},
           {"metis",
            {{"neighbours", kInt * arcs},
             {"node weights", weights},
             {"offsets and owners", (kInt + kOwnerBytes) * nodes},
             {"inside METIS (estimate)",
              InsideMetis(nodes, arcs) + 2 * weights + kMetisNodeBytes * nodes}}}}};
}

MethodProfile MetisMethod::Profile(const GraphCounts& counts,
                                   const MethodOptions& /*options*/) const {
  return {.folds_edges = true, .metis_edges = counts.num_edges(), .scratch_bytes = 0};
}

StatusOr<Assignment> MetisMethod::Assign(const Dataset& dataset,
                                         const MethodOptions& options) const {
  HG_RETURN_IF_ERROR(CheckParts(dataset, options.parts));
  if (options.parts == 1) return AllInOnePart(dataset);
  Assignment assignment;
  {
    HG_ASSIGN_OR_RETURN(FoldedGraph graph, BuildFoldedGraph(dataset, options.drop_duplicates));
    HG_ASSIGN_OR_RETURN(const VertexWeights weights,
                        BuildVertexWeights(dataset, graph, options.balance));
    graph.in_degrees = {};
    if (graph.num_arcs() > kSmallArcs) {
      // METIS gives no sign of life, for minutes on a large graph.
      spdlog::info("metis: {} nodes, {} pairs of neighbours, {} constraints, {} parts",
                   FormatCount(graph.num_nodes()), FormatCount(graph.num_arcs() / 2),
                   weights.count(), options.parts);
    }
    Progress progress("metis (nodes)");
    progress.Advance(graph.num_nodes());  // for the line at the end: nodes and seconds
    const int64_t room = MemoryLeft(options.memory, kProgramBytes + InputBytes(graph, weights) +
                                                        kOwnerBytes * graph.num_nodes());
    const int max_attempts = graph.num_arcs() <= kSmallArcs ? kAttempts : 1;
    int attempts = 1;
    HG_ASSIGN_OR_RETURN(MetisAttempt best,
                        AttemptMetis(graph, weights, options.parts, options.seed, {}, room));
    for (; attempts < max_attempts && best.excess > 0; ++attempts) {
      const uint64_t seed = SubKey(options.seed, static_cast<uint64_t>(attempts));
      HG_ASSIGN_OR_RETURN(MetisAttempt other,
                          AttemptMetis(graph, weights, options.parts, seed, {}, room));
      if (other.BetterThan(best)) best = std::move(other);
    }
    if (best.dealt) WarnOfDealtOwners(name(), graph.num_nodes(), "nodes", options.parts);
    assignment.owners = UnionNodes(dataset).SplitByType(best.owners);
    assignment.report = Report(graph, weights, best, attempts);
  }
  // What was freed goes back to the system before the writer starts.
  malloc_trim(0);
  return assignment;
}

}  // namespace halograph
