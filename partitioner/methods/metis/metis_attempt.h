// One attempt at a partitioning of a folded graph: METIS, then nodes moved until bounds hold.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/metis/folded_graph.h"
#include "partitioner/methods/metis/metis_call.h"
#include "partitioner/methods/metis/vertex_weights.h"

namespace halograph {

struct MetisAttempt {
  std::vector<int32_t> owners;  // per node
  std::vector<double> balance;  // max / mean per constraint
  double excess = 0;            // above bounds, in even shares (PartLoads)
  int64_t cut = 0;              // METIS' objective: weight of folded edges cut
  int64_t moves = 0;            // of nodes, after METIS

  [[nodiscard]] bool BetterThan(const MetisAttempt& other) const {
    return std::pair(excess, cut) < std::pair(other.excess, other.cut);
  }
};

// parts >= 2. Where there are too few nodes for METIS, or no edges, nodes are dealt, then balanced.
// A pure function of the arguments. Errors as CallMetis.
[[nodiscard]] StatusOr<MetisAttempt> AttemptMetis(const FoldedGraph& graph,
                                                  const VertexWeights& weights, int parts,
                                                  uint64_t seed, const MetisImbalance& aims = {});

}  // namespace halograph
