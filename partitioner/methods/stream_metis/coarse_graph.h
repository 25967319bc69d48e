// Step 4 of stream-metis: builds the graph of the clusters for METIS in one pass.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/methods/clusters.h"
#include "partitioner/methods/metis/coarse_partition.h"
#include "partitioner/methods/stream_metis/node_weights.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// At most max_pairs >= 1 pairs of clusters, sampled by hash (PairSample). Weights are divided by
// one number where sums would not fit METIS' 32 bits.
//   ResourceExhausted  no memory
//   DataLoss           the number of edges differs from that of the degree pass
// and what the edge stream reports.
[[nodiscard]] StatusOr<CoarseGraph> BuildCoarseGraph(const Dataset& dataset,
                                                     const Clusters& clusters,
                                                     const NodeWeights& weights, int64_t edges,
                                                     int64_t max_pairs, uint64_t seed);

}  // namespace halograph
