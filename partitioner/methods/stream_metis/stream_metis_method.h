// Nearly METIS' quality in O(nodes) memory: edges are only streamed. It counts degrees, finds
// clusters of a few nodes by streaming clustering, partitions the graph of the clusters with
// METIS, moves single nodes to partitions that hold more of their neighbours, and moves nodes
// until all bounds hold. Parallel edges count as often as the stream gives them, even if
// duplicates are dropped later. Stateless; thread-safe.
#pragma once

#include "partitioner/methods/method.h"

namespace halograph {

class StreamMetisMethod : public PartitionMethod {
 public:
  [[nodiscard]] std::string_view name() const override { return "stream-metis"; }
  [[nodiscard]] bool FindsClusters() const override { return true; }
  // The coarse graph and the counters of refinement are as large as options.memory leaves room
  // for. 28 bytes a node for 8 partitions, and 110 a pair of clusters.
  [[nodiscard]] MemoryPlan PlanMemory(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  [[nodiscard]] MethodProfile Profile(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  [[nodiscard]] MethodOptions ForTrial(const GraphCounts& counts, int64_t nodes,
                                       const MethodOptions& options) const override;
  // Order keys are the clusters that METIS gets. If these hold only a few nodes, as in graphs of
  // less than four million nodes, larger ones are found in one more pass over the edges. Nodes
  // without neighbours have no key. Keys change owners only if options.memory is so tight that
  // refinement gets fewer counters. InvalidArgument also for options.stream_metis out of range.
  [[nodiscard]] StatusOr<Assignment> Assign(const Dataset& dataset,
                                            const MethodOptions& options) const override;
};

}  // namespace halograph
