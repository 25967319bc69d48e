// Makes the graph that METIS gets: its vertices are clusters of nodes.
#pragma once

#include "common/base/status.h"
#include "partitioner/methods/lp_metis/disk_csr.h"
#include "partitioner/methods/lp_metis/label_propagation.h"
#include "partitioner/methods/metis/coarse_partition.h"
#include "partitioner/methods/metis/vertex_weights.h"

namespace halograph {

struct ContractionOptions {
  // Of both directions together; a graph with more pairs gets a part of them, chosen by hash.
  int64_t max_arcs = kMetisLimit;
  // Of the sum of all edges' weights, which are halved until it fits (none becomes 0), and of each
  // constraint, whose weights are divided where it does not.
  int64_t max_weight = kMetisLimit;
  uint64_t seed = 0;
};

// The graph of the clusters. Memory: 4 bytes a node and 16 a cluster besides the answer.
//   ResourceExhausted  no memory
[[nodiscard]] StatusOr<CoarseGraph> Contract(const DiskCsr& graph, const Clustering& clustering,
                                             const VertexWeights& weights,
                                             const ContractionOptions& options = {});

}  // namespace halograph
