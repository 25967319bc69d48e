// Gives nodes random owners, evenly per node type. It is the baseline of every comparison, and
// works for graphs that are too large for all other methods.
#pragma once

#include "partitioner/methods/method.h"

namespace halograph {

class RandomMethod : public PartitionMethod {
 public:
  [[nodiscard]] std::string_view name() const override { return "random"; }
  // Owners of a type differ in number by one at most. Needs no memory beyond the answer.
  [[nodiscard]] MemoryPlan PlanMemory(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  [[nodiscard]] StatusOr<Assignment> Assign(const Dataset& dataset,
                                            const MethodOptions& options) const override;
};

// `count` owners below `parts`, evenly dealt and shuffled; a pure function of the arguments.
[[nodiscard]] std::vector<uint16_t> DealOwners(int64_t count, int parts, uint64_t key);

}  // namespace halograph
