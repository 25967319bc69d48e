// The method that ChooseMethod chooses, as a method: what --method auto is.
#pragma once

#include "partitioner/methods/method.h"

namespace halograph {

// Thread-safe. The report of an assignment is the chosen method's, with "method" and "why" added.
class AutoMethod : public PartitionMethod {
 public:
  [[nodiscard]] std::string_view name() const override;
  // These two are the chosen method's.
  [[nodiscard]] MemoryPlan PlanMemory(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  [[nodiscard]] MethodProfile Profile(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  // Logs which method it is and why. Errors are the chosen method's.
  [[nodiscard]] StatusOr<Assignment> Assign(const Dataset& dataset,
                                            const MethodOptions& options) const override;
};

}  // namespace halograph
