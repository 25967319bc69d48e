// Chooses how large the coarse graph may be and how many counters refinement may hold, before
// the start, from the counts of the graph and the memory limit. Pure functions.
#pragma once

#include <cstdint>

#include "partitioner/methods/method.h"
#include "partitioner/stream/graph_counts.h"
#include "partitioner/stream/memory_plan.h"

namespace halograph {

struct CoarseBudget {
  int64_t clusters = 0;       // aimed at; nodes that are no more than this are not clustered
  int64_t max_clusters = 0;   // merged down to
  int64_t pairs = 0;          // of clusters, at most
  int64_t counter_bytes = 0;  // of neighbours per partition, at most; >= parts
};

// What fits into options.memory, down to the least that makes sense; then the plan is larger than
// the memory, and says by how much.
[[nodiscard]] CoarseBudget ChooseBudget(const GraphCounts& counts, const MethodOptions& options);

// What options.memory leaves for the coarse graph and METIS on it. METIS may take more than the
// estimate for a pair, but not more than this.
[[nodiscard]] int64_t CoarseMemory(const GraphCounts& counts, const MethodOptions& options);

// What a run with this budget holds, phase by phase.
[[nodiscard]] MemoryPlan PlanOfBudget(const GraphCounts& counts, const MethodOptions& options,
                                      const CoarseBudget& budget);

}  // namespace halograph
