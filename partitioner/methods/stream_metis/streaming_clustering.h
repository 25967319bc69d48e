// Step 2 of stream-metis: clusters of a few nodes in one pass (StreamClusters), numbered densely.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/methods/clusters.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// Each node with a neighbour alone, the others in no cluster. ResourceExhausted: no memory.
[[nodiscard]] StatusOr<Clusters> SingleNodes(const Degrees& degrees);

// No cluster exceeds max_volume but those of one node with a larger degree; nodes without
// neighbours are in none. Names are dense. DataLoss: the number
// of edges differs from that of the degree pass; and what the edge stream reports.
[[nodiscard]] StatusOr<Clusters> ClusterStream(const Dataset& dataset, const Degrees& degrees,
                                               int64_t max_volume);

}  // namespace halograph
