// Step 1 of stream-metis: one pass that counts.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/methods/clusters.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// Ids of nodes and clusters are 32 bits; the last stands for none.
inline constexpr int64_t kMaxStreamNodes = int64_t{4294967295} - 1;

// Without self-loops: a node of total 0 has no neighbour.
//   ResourceExhausted  more than kMaxStreamNodes nodes, or no memory
// and whatever the edge stream reports.
[[nodiscard]] StatusOr<Degrees> CountStreamDegrees(const Dataset& dataset);

// Step 2 of stream-metis: clusters of a few nodes in one pass (StreamClusters), numbered densely.

// Each node with a neighbour alone, the others in no cluster. ResourceExhausted: no memory.
[[nodiscard]] StatusOr<Clusters> SingleNodes(const Degrees& degrees);

// No cluster exceeds max_volume but those of one node with a larger degree; nodes without
// neighbours are in none. Names are dense. DataLoss: the number
// of edges differs from that of the degree pass; and what the edge stream reports.
[[nodiscard]] StatusOr<Clusters> ClusterStream(const Dataset& dataset, const Degrees& degrees,
                                               int64_t max_volume);

// Step 3 of stream-metis: fewer clusters, where streaming clustering left too many. In each pass
// over the edges a cluster finds the neighbour it has most edges to, or nearly (majority vote after
// Boyer and Moore, "MJRTY", 1991: one candidate and one counter); then clusters join theirs,
// smallest first, under a volume cap.

inline constexpr int kMaxMergePasses = 4;

// Down to max_clusters >= 1 clusters; nothing where there are no more. The cap starts at the volume
// that leaves room for two of them and doubles each pass. A cluster whose favourite is full joins
// another with the same favourite. What passes leave is packed, smallest first, without looking at
// edges. DataLoss, ResourceExhausted and what the edge stream reports.
[[nodiscard]] Status MergeClusters(const Dataset& dataset, const Degrees& degrees,
                                   int64_t max_clusters, Clusters* clusters);

}  // namespace halograph
