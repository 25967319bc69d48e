#include "partitioner/methods/registry/auto_method.h"

#include "common/base/log.h"
#include "partitioner/methods/registry/method_choice.h"
#include "partitioner/methods/registry/registry.h"

namespace halograph {

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
  spdlog::info("method {}: {}", choice.method, choice.why);
  HG_ASSIGN_OR_RETURN(const auto method, MakeMethod(choice.method));
  HG_ASSIGN_OR_RETURN(Assignment assignment, method->Assign(dataset, options));
  assignment.report["method"] = choice.method;
  assignment.report["why"] = choice.why;
  return assignment;
}

}  // namespace halograph
