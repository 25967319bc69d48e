// Clusters of nodes, named by numbers, with their volumes (the sum of the degrees of a cluster's
// nodes). Plain values; not thread-safe.
#pragma once

#include <cstdint>
#include <numeric>

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

// Renumbers clusters without gaps, in the same order: empty ones (volume 0) are removed, and their
// nodes are then in no cluster. Holds 4 bytes per cluster meanwhile. ResourceExhausted: no memory.
[[nodiscard]] Status CompactClusters(Clusters* clusters);

// Finds the cluster that a cluster has become part of, with path halving (4 bytes per cluster). Not
// thread-safe.
class JoinedClusters {
 public:
  JoinedClusters() = default;
  // None has joined another. ResourceExhausted: no memory.
  [[nodiscard]] static StatusOr<JoinedClusters> Make(int64_t clusters) {
    JoinedClusters joined;
    HG_ASSIGN_OR_RETURN(joined.parent_, NodeArray<uint32_t>::Make(clusters, "joined clusters"));
    std::iota(joined.parent_.span().begin(), joined.parent_.span().end(), uint32_t{0});
    return joined;
  }

  // What a cluster is part of by now: itself, if it has joined none.
  [[nodiscard]] uint32_t Root(uint32_t cluster) {
    while (parent_[cluster] != cluster) {
      parent_[cluster] = parent_[parent_[cluster]];
      cluster = parent_[cluster];
    }
    return cluster;
  }
  // Both are roots.
  void Join(uint32_t root, uint32_t to) { parent_[root] = to; }

 private:
  NodeArray<uint32_t> parent_;
};

}  // namespace halograph
