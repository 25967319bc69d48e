// How much memory renumbering and writing hold, and how the writer uses its memory. The plan and
// the writer use the same figures. Pure functions.
#pragma once

#include <cstdint>

#include "partitioner/methods/method.h"
#include "partitioner/stream/graph_counts.h"
#include "partitioner/stream/memory_plan.h"

namespace halograph {

// What the writer makes of its share of --memory.
struct WritingBudget {
  bool in_memory = true;     // edges wait in memory for being sorted, else on disk
  int64_t bucket_edges = 0;  // aimed at; also the most nodes a bucket covers
  int64_t sort_edges = 0;    // sorted at once; larger buckets are split
  int64_t buffer_bytes = 0;  // of all buckets that a relation's edges go to

  // Nodes a bucket of a relation covers.
  [[nodiscard]] int64_t BucketWidth(int64_t nodes, int64_t edges) const;
};

// For a run that may hold `memory` bytes in all, kProgramBytes among them. Never less than what
// works, so what it takes may be more than `memory`: see CheckMemory.
[[nodiscard]] WritingBudget BudgetWriting(const GraphCounts& counts, int64_t memory, int parts);

// Phases "renumbering", "bucketing edges" and "sorting edges" of such a run. With so much memory as
// the plan for less takes, the plan takes no more: what CheckMemory advises works. `parts` matters
// where there are hundreds. `order`: kCluster adds the order keys and their sorting to
// "renumbering", `divided` the sub-parts or clusters.
[[nodiscard]] MemoryPlan PlanWriting(const GraphCounts& counts, int64_t memory, int parts = 8,
                                     NodeOrder order = NodeOrder::kInput, bool divided = false);

// What the edges take on disk until they are sorted; 0 if they wait in memory.
[[nodiscard]] int64_t BucketFileBytes(const GraphCounts& counts, const WritingBudget& budget);

}  // namespace halograph
