// Clusters inside each part, of which a trainer draws a few as one minibatch (ClusterGCN, arXiv
// 1905.07953): METIS divides each part, or each of its sub-parts, by its own edges. Nodes are
// numbered cluster by cluster, so a cluster is a run of consecutive ids of one part, and the folder
// keeps the bounds (common/graph/FORMAT.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/method.h"
#include "partitioner/stream/graph_counts.h"
#include "partitioner/stream/memory_plan.h"

namespace halograph {

inline constexpr int kMaxBatchClusters = 65536;  // of a part

// InvalidArgument: fewer clusters than sub-parts, of which each has clusters of its own.
[[nodiscard]] Status CheckBatchClusters(int clusters, int trainers_per_part);

// How many of `clusters` each sub-part gets that has so many `nodes`: one if it has any, then one
// after the other to where there are the most nodes a cluster, the first of equals. A sub-part gets
// no more than METIS can fill (kMetisNodesPerPart). Pure function.
[[nodiscard]] std::vector<int> ShareClusters(std::span<const int64_t> nodes, int clusters);

// What AddBatchClusters holds on a graph of these counts, beside what it is given: as PlanSubParts.
[[nodiscard]] MemoryPlan PlanBatchClusters(const GraphCounts& counts, const MethodOptions& options,
                                           int trainers_per_part);

// Makes `clusters` clusters of each part of `assignment`, within the sub-parts where it has such.
// They balance nodes and cut few of the part's own edges. A part of few nodes gets fewer
// (ShareClusters); that is warned of. A part without edges is cut into even runs of nodes. Fills
// clusters and num_clusters in place of sub_parts, and adds "clusters" to the report: {"parts":
// [clusters of each], "nodes": {"least", "median", "most"} of a cluster}. A pure function of graph,
// assignment and seed. Files as those of AddSubParts.
//   InvalidArgument    the graph has several node types
//   ResourceExhausted  no memory, or the largest part takes more than options.memory leaves, and as
//                      BuildFoldedGraph and CallMetis
// and whatever reading and writing edges report.
[[nodiscard]] Status AddBatchClusters(const Dataset& dataset, const MethodOptions& options,
                                      int clusters, Assignment* assignment);
// The first of these errors, which can be told before any work.
[[nodiscard]] Status CheckOneNodeType(const Dataset& dataset);

}  // namespace halograph
