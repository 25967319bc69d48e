// Of each node a cluster, and of each cluster its volume (the sum of its nodes' degrees), named by
// numbers. Plain value; not thread-safe.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

// The cluster of a node that is in none.
inline constexpr uint32_t kNoCluster = 4294967295;

struct Clusters {
  static constexpr int64_t kBytesPerNode = 2 * sizeof(uint32_t);

  NodeArray<uint32_t> of;      // per node: 0 .. count-1, or kNoCluster
  NodeArray<uint32_t> volume;  // per cluster (size() may be larger than count)
  int64_t count = 0;
};

// Makes names dense where clusters are empty (volume 0), keeping their order; nodes of those are
// in none then. Holds 4 bytes a cluster meanwhile. ResourceExhausted: no memory.
[[nodiscard]] Status CompactClusters(Clusters* clusters);

}  // namespace halograph
