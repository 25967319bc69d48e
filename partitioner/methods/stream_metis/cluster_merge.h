// Step 3 of stream-metis: fewer clusters, where streaming clustering left too many. In each pass
// over the edges a cluster finds the neighbour it has most edges to, or nearly (majority vote after
// Boyer and Moore, "MJRTY", 1991: one candidate and one counter); then clusters join theirs,
// smallest first, under a volume cap.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/methods/clusters.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

inline constexpr int kMaxMergePasses = 4;

// Down to max_clusters >= 1 clusters; nothing where there are no more. The cap starts at the volume
// that leaves room for two of them and doubles each pass. A cluster whose favourite is full joins
// another with the same favourite. What passes leave is packed, smallest first, without looking at
// edges. DataLoss, ResourceExhausted and what the edge stream reports.
[[nodiscard]] Status MergeClusters(const Dataset& dataset, const Degrees& degrees,
                                   int64_t max_clusters, Clusters* clusters);

}  // namespace halograph
