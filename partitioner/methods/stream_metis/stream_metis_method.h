// METIS' quality in O(nodes) memory: edges are only ever streamed. Degrees; clusters of a few nodes
// by streaming clustering; METIS on the graph of the clusters; nodes moved one by one where the
// stream says that they have more neighbours elsewhere; the bounds that are left, kept. Parallel
// edges count as often as the stream gives them, also where duplicates are dropped later.
// Stateless; thread-safe.
#pragma once

#include "partitioner/methods/method.h"

namespace halograph {

class StreamMetisMethod : public PartitionMethod {
 public:
  [[nodiscard]] std::string_view name() const override { return "stream-metis"; }
  // The coarse graph and the counters of refinement are as large as options.memory leaves room
  // for. 28 bytes a node for 8 partitions, and 110 a pair of clusters.
  [[nodiscard]] MemoryPlan PlanMemory(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  [[nodiscard]] MethodProfile Profile(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  [[nodiscard]] MethodOptions ForTrial(const GraphCounts& counts, int64_t nodes,
                                       const MethodOptions& options) const override;
  // InvalidArgument also for options.stream_metis out of range.
  [[nodiscard]] StatusOr<Assignment> Assign(const Dataset& dataset,
                                            const MethodOptions& options) const override;
};

}  // namespace halograph
