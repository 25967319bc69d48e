// The graph of the clusters, as METIS takes it.
#pragma once

#include "common/base/status.h"
#include "partitioner/methods/lp_metis/disk_csr.h"
#include "partitioner/methods/lp_metis/label_propagation.h"
#include "partitioner/methods/stream_metis/coarse_graph.h"
#include "partitioner/methods/vertex_weights.h"

namespace halograph {

// Weights of edges are halved until their sum fits `limit`; none becomes 0. Memory: 4 bytes a node
// and 4 a cluster besides the answer.
//   ResourceExhausted  more pairs of clusters than `limit` / 2
[[nodiscard]] StatusOr<CoarseGraph> Contract(const DiskCsr& graph, const Clustering& clustering,
                                             const VertexWeights& weights,
                                             int64_t limit = kMetisLimit);

}  // namespace halograph
