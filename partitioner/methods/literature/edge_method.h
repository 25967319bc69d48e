// What all edge partitioners share: the degree pass, the partitioner's own passes, the passes
// that place edges, the choice of one owner per node (OwnerRule) within bounds, and the report.
// The writer adds all in-edges of the owned nodes.
//
// The majority rule needs one count per node and partition. If --memory does not hold all
// counts, nodes are counted one range at a time, and the placing passes run again for each
// range.
#pragma once

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
