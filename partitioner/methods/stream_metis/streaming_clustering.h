// Step 2 of stream-metis: clusters of a few nodes in one pass (StreamClusters), numbered densely.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/methods/coarse_partition.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

struct Clusters {
  NodeArray<uint32_t> of;      // per node: 0 .. count-1; kNoCluster where it has no neighbours
  NodeArray<uint32_t> volume;  // per cluster (size() may be larger than count)
  int64_t count = 0;
};

// Each node with a neighbour alone. ResourceExhausted: no memory.
[[nodiscard]] StatusOr<Clusters> SingleNodes(const Degrees& degrees);

// No cluster exceeds max_volume but those of one node with a larger degree. DataLoss: the number
// of edges differs from that of the degree pass; and what the edge stream reports.
[[nodiscard]] StatusOr<Clusters> ClusterStream(const Dataset& dataset, const Degrees& degrees,
                                               int64_t max_volume);

// Makes ids dense again where clusters became empty (volume 0), keeping their order.
// ResourceExhausted: no memory.
[[nodiscard]] Status CompactClusters(Clusters* clusters);

}  // namespace halograph
