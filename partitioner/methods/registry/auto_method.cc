#include "partitioner/methods/registry/auto_method.h"

#include <fmt/format.h>

#include "common/base/log.h"
#include "common/base/units.h"
#include "partitioner/methods/lp_metis/lp_metis_method.h"
#include "partitioner/methods/metis/folded_graph.h"
#include "partitioner/methods/metis/metis_method.h"
#include "partitioner/methods/registry/registry.h"

namespace halograph {

namespace {

constexpr char kStreaming[] = "stream-metis";

// Where clusters are asked for: METIS has some while it coarsens, but does not tell them.
MethodChoice ChooseForClusters(const GraphCounts& counts, const MethodOptions& options) {
  const int64_t needed = kProgramBytes + LpMetisMethod().PlanMemory(counts, options).peak_bytes();
  if (counts.num_nodes() > kMetisLimit || needed > options.memory) {
    return {kStreaming,
            fmt::format("--order cluster needs clusters, and lp-metis would need {} of memory",
                        FormatBytes(needed))};
  }
  return {"lp-metis",
          "--order cluster needs clusters, and METIS does not report its own; lp-metis fits in "
          "memory"};
}

StatusOr<Assignment> AssignBy(const MethodChoice& choice, const Dataset& dataset,
                              const MethodOptions& options) {
  spdlog::info("method {}: {}", choice.method, choice.why);
  HG_ASSIGN_OR_RETURN(const auto method, MakeMethod(choice.method));
  HG_ASSIGN_OR_RETURN(Assignment assignment, method->Assign(dataset, options));
  assignment.report["method"] = choice.method;
  assignment.report["why"] = choice.why;
  return assignment;
}

}  // namespace

MethodChoice ChooseMethod(const GraphCounts& counts, const MethodOptions& options) {
  if (options.order == NodeOrder::kCluster) return ChooseForClusters(counts, options);
  if (counts.num_nodes() > kMetisLimit) {
    return {kStreaming, fmt::format("{} nodes are more than METIS' 32-bit ids hold",
                                    FormatCount(counts.num_nodes()))};
  }
  // Each edge may be two neighbours; how many pairs fold into one is only known when all were read.
  if (counts.num_edges() > kMetisLimit / 2) {
    return {kStreaming, fmt::format("{} edges in both directions may be more than METIS' 32-bit "
                                    "offsets hold",
                                    FormatCount(counts.num_edges()))};
  }
  const int64_t needed = kProgramBytes + MetisMethod().PlanMemory(counts, options).peak_bytes();
  if (needed > options.memory) {
    return {kStreaming,
            fmt::format("METIS would need {}, more than the memory limit", FormatBytes(needed))};
  }
  return {"metis", "METIS fits in memory"};
}

std::string_view AutoMethod::name() const { return kAutoMethod; }

MemoryPlan AutoMethod::PlanMemory(const GraphCounts& counts, const MethodOptions& options) const {
  const auto method = MakeMethod(ChooseMethod(counts, options).method);
  return method.ok() ? (*method)->PlanMemory(counts, options) : MemoryPlan();
}

MethodProfile AutoMethod::Profile(const GraphCounts& counts, const MethodOptions& options) const {
  const auto method = MakeMethod(ChooseMethod(counts, options).method);
  return method.ok() ? (*method)->Profile(counts, options) : MethodProfile();
}

StatusOr<Assignment> AutoMethod::Assign(const Dataset& dataset,
                                        const MethodOptions& options) const {
  const MethodChoice choice = ChooseMethod(GraphCounts::Of(dataset), options);
  StatusOr<Assignment> assignment = AssignBy(choice, dataset, options);
  // What METIS takes is an estimate.
  if (!absl::IsResourceExhausted(assignment.status()) || choice.method == kStreaming) {
    return assignment;
  }
  return AssignBy({kStreaming, Message(assignment.status())}, dataset, options);
}

}  // namespace halograph
