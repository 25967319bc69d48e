#include "partitioner/methods/registry/owners_method.h"

#include "partitioner/methods/owners/load_owners.h"

namespace halograph {

MemoryPlan OwnersMethod::PlanMemory(const GraphCounts& counts, const MethodOptions&) const {
  return PlanLoadOwners(counts);
}

StatusOr<Assignment> OwnersMethod::Assign(const Dataset& dataset,
                                          const MethodOptions& options) const {
  HG_ASSIGN_OR_RETURN(LoadedOwners loaded, LoadOwners(path_, dataset, options.parts));
  return std::move(loaded.assignment);
}

}  // namespace halograph
