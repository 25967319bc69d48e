// Nearly METIS' quality in a fraction of its time. Clusters are found by label propagation on
// lists of neighbours on disk, METIS partitions the graph of the clusters, and then single nodes
// move to where most of their neighbours are. Stateless; thread-safe.
#pragma once

#include "partitioner/methods/method.h"

namespace halograph {

class LpMetisMethod : public PartitionMethod {
 public:
  [[nodiscard]] std::string_view name() const override { return "lp-metis"; }
  [[nodiscard]] bool FindsClusters() const override { return true; }
  // What is held a node, and the graph of the clusters with what METIS makes of it, as if no two
  // neighbours were in one cluster; a sample of the pairs bounds it.
  [[nodiscard]] MemoryPlan PlanMemory(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  [[nodiscard]] MethodProfile Profile(const GraphCounts& counts,
                                      const MethodOptions& options) const override;
  // Clusters as large as the planned graph's, but no fewer than METIS has work with.
  [[nodiscard]] MethodOptions ForTrial(const GraphCounts& counts, int64_t nodes,
                                       const MethodOptions& options) const override;
  // Order keys are the clusters that METIS gets. If these hold only a few nodes, as in small
  // graphs, larger ones are found in the same way. They change no owner. Besides the errors of the
  // interface: ResourceExhausted, DataLoss as DiskCsr::Build, and what METIS reports.
  [[nodiscard]] StatusOr<Assignment> Assign(const Dataset& dataset,
                                            const MethodOptions& options) const override;
};

// Nodes that a cluster holds at most: 1 where METIS itself takes no time.
[[nodiscard]] int64_t MaxClusterNodes(int64_t nodes, int parts);

}  // namespace halograph
