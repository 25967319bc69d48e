// METIS' quality at a fraction of its time: clusters by size-constrained label propagation on lists
// of neighbours that lie on disk, METIS on the graph of the clusters, then nodes moved one by one
// to where their neighbours are. Stateless; thread-safe.
#pragma once

#include "partitioner/methods/method.h"

namespace halograph {

class LpMetisMethod : public PartitionMethod {
 public:
  [[nodiscard]] std::string_view name() const override { return "lp-metis"; }
  // On disk, in options.scratch: 10 bytes a directed edge, 26 where there are more than half of
  // kWindowArcs. In memory: what is held a node, and the graph of the clusters with what METIS
  // makes of it, which is bounded by a sample of the pairs but not known before.
  [[nodiscard]] MemoryPlan PlanMemory(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  // Besides the errors of the interface: ResourceExhausted, DataLoss as DiskCsr::Build,
  // and what METIS reports.
  [[nodiscard]] StatusOr<Assignment> Assign(const Dataset& dataset,
                                            const MethodOptions& options) const override;
};

// Nodes that a cluster holds at most: 1 where METIS itself takes no time.
[[nodiscard]] int64_t MaxClusterNodes(int64_t nodes, int parts);

}  // namespace halograph
