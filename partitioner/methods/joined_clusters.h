// Clusters that have become part of others, found again with path halving (4 bytes a cluster).
#pragma once

#include <cstdint>
#include <numeric>

#include "common/base/status.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

// Not thread-safe.
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
