// Steps 1 to 3 of stream-metis, from edges to clusters: count degrees, find clusters of a few
// nodes, merge clusters if there are too many.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/methods/clusters.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// Ids of nodes and clusters are 32 bits; the last stands for none.
inline constexpr int64_t kMaxStreamNodes = int64_t{4294967295} - 1;

// Step 1: counts degrees in one pass, without self-loops; a node of total 0 has no neighbour.
//   ResourceExhausted  more than kMaxStreamNodes nodes, or no memory
// and whatever the edge stream reports.
[[nodiscard]] StatusOr<Degrees> CountStreamDegrees(const Dataset& dataset);

// ---- step 2: clusters of a few nodes ----

// Each node with a neighbour is a cluster; the others are in none. ResourceExhausted: no memory.
[[nodiscard]] StatusOr<Clusters> SingleNodes(const Degrees& degrees);

// One pass (StreamClusters). No cluster exceeds max_volume, except a single node with a larger
// degree; nodes without neighbours are in none. Numbers have no gaps. DataLoss: the number of edges
// differs from that of the degree pass; and what the edge stream reports.
[[nodiscard]] StatusOr<Clusters> ClusterStream(const Dataset& dataset, const Degrees& degrees,
                                               int64_t max_volume);

// ---- step 3: fewer clusters, if streaming clustering left too many ----

inline constexpr int kMaxMergePasses = 4;

// Merges down to max_clusters >= 1 clusters; does nothing if there are no more. In each pass over
// the edges a cluster finds the neighbour to which it has most edges, or nearly (majority vote
// after Boyer and Moore, "MJRTY", 1991: one candidate and one counter). Then clusters join that
// neighbour, smallest first, under a volume cap. The cap starts at the volume that leaves room for
// two clusters and doubles each pass. A cluster whose best neighbour is full joins another one with
// the same best neighbour. What passes leave is packed, smallest first, without looking at edges.
// DataLoss, ResourceExhausted and what the edge stream reports.
[[nodiscard]] Status MergeClusters(const Dataset& dataset, const Degrees& degrees,
                                   int64_t max_clusters, Clusters* clusters);

}  // namespace halograph
