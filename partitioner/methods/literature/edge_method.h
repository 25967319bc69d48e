// What all edge partitioners share: the degree pass, the partitioner's own passes, the placing
// passes, one owner a node (OwnerRule) within bounds, and the report. The full in-neighbourhood of
// the owned nodes is made by the writer.
//
// The majority rule needs a count per node and partition. Where --memory does not hold them all,
// nodes are counted a range at a time, the placing passes being run again for each range.
#pragma once

#include <memory>

#include "partitioner/methods/literature/edge_partitioner.h"
#include "partitioner/methods/method.h"

namespace halograph {

// Ranges that the nodes are counted in at most: what memory a run can do with has this bound.
inline constexpr int64_t kMaxCountingRounds = 16;

// As PartitionMethod::PlanMemory, Profile and Assign. Also InvalidArgument for EdgePartitionOptions
// out of their ranges. The report holds the replication and balance of the edge partition itself
// (edge_partition: replicas / nodes with edges, largest share of edges), the balance of the owners,
// and the number of passes over the edges.
[[nodiscard]] MemoryPlan PlanEdgeMethod(const EdgePartitionerTraits& traits,
                                        const GraphCounts& counts, const MethodOptions& options);
[[nodiscard]] MethodProfile ProfileEdgeMethod(const EdgePartitionerTraits& traits,
                                              const MethodOptions& options);
[[nodiscard]] StatusOr<Assignment> RunEdgeMethod(const EdgePartitionerTraits& traits,
                                                 EdgePartitioner* partitioner,
                                                 const Dataset& dataset,
                                                 const MethodOptions& options);

// An edge partitioner as a partition method.
template <typename PartitionerT>
class EdgeMethod : public PartitionMethod {
 public:
  std::string_view name() const override { return PartitionerT::kTraits.name; }
  MemoryPlan PlanMemory(const GraphCounts& counts, const MethodOptions& options) const override {
    return PlanEdgeMethod(PartitionerT::kTraits, counts, options);
  }
  MethodProfile Profile(const GraphCounts& /*counts*/,
                        const MethodOptions& options) const override {
    return ProfileEdgeMethod(PartitionerT::kTraits, options);
  }
  StatusOr<Assignment> Assign(const Dataset& dataset, const MethodOptions& options) const override {
    PartitionerT partitioner;
    return RunEdgeMethod(PartitionerT::kTraits, &partitioner, dataset, options);
  }
};

}  // namespace halograph
