// What renumbering and writing hold in memory, and how the writer uses what it is given: the same
// figures for the promise and for the work. Pure functions.
#pragma once

#include <cstdint>

#include "partitioner/stream/graph_counts.h"
#include "partitioner/stream/memory_plan.h"

namespace halograph {

// Phases "renumbering" and "writing", for a run that may hold `memory` bytes.
[[nodiscard]] MemoryPlan PlanWriting(const GraphCounts& counts, int64_t memory);

}  // namespace halograph
