// METIS k-way partitioning over the union of all node types, balanced in several constraints at
// once (DistDGLv2, section 5.3.2).
#pragma once

#include "partitioner/methods/method.h"

namespace halograph {

class MetisMethod : public PartitionMethod {
 public:
  [[nodiscard]] std::string_view name() const override { return "metis"; }
  // Besides the errors of the interface: ResourceExhausted if METIS runs out of memory, Internal
  // if it fails otherwise. Calls of one process run one at a time: METIS keeps global state.
  // Peak memory is METIS' own plus the graph in its form, which is freed before this returns.
  [[nodiscard]] MemoryPlan PlanMemory(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  [[nodiscard]] MethodProfile Profile(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  [[nodiscard]] StatusOr<Assignment> Assign(const Dataset& dataset,
                                            const MethodOptions& options) const override;
};

// Levels of METIS' coarsening that have about as many pairs of neighbours as the graph itself: what
// its memory and time grow by. At least 2.
[[nodiscard]] double MetisLevels(int64_t nodes, int64_t arcs);

}  // namespace halograph
