// Label propagation with a bound on cluster size. In each round every node joins the cluster
// that holds most of its neighbours and has room.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/methods/lp_metis/disk_csr.h"

namespace halograph {

struct Clustering {
  std::vector<uint32_t> cluster_of;  // per node, 0 .. clusters - 1 in the order of first nodes
  int64_t clusters = 0;
};

struct PropagationOptions {
  int64_t max_nodes = 1;  // of a cluster; 1: every node its own
  int rounds = 5;         // at most
  uint64_t seed = 0;
};

// Deterministic: one node after the other. Clusters that stayed single nodes because the one they
// lean to is full, or that have no neighbours, are joined to one another, those of a kind together.
// Memory: 8 bytes a node, 12 while joining.
[[nodiscard]] Clustering PropagateLabels(const DiskCsr& graph, const PropagationOptions& options);

}  // namespace halograph
