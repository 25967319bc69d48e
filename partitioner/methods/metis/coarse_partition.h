// Partitions a graph whose vertices are clusters of nodes. METIS gets tight bounds, so that
// moving single nodes afterwards starts within the bounds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/clusters.h"
#include "partitioner/methods/metis/folded_graph.h"
#include "partitioner/methods/metis/vertex_weights.h"

namespace halograph {

struct CoarseGraph {
  FoldedGraph graph;      // a vertex a cluster, one type; weights: edges between two clusters
  VertexWeights weights;  // sums over a cluster's nodes, of all constraints
  double share = 1;       // of the pairs of clusters that are in the graph; 1: all
};

struct CoarsePartition {
  std::vector<int32_t> owners;  // per cluster
  int64_t cut = 0;              // weight of pairs cut
  int attempts = 0;
  bool dealt = false;  // as MetisAttempt's
};

// Sums over the nodes of each of `clusters` clusters; row_of(node) gives a node's weights.
// A constraint whose total is above `max_sum` is divided by one number; what rounding takes from
// one node is given with the next. Totals become those of the nodes that are in clusters.
template <typename RowOf>
VertexWeights SumOverClusters(const std::vector<Constraint>& constraints, int64_t max_sum,
                              int64_t clusters, std::span<const uint32_t> cluster_of,
                              const RowOf& row_of) {
  VertexWeights sums;
  sums.constraints = constraints;
  const size_t count = sums.count();
  std::vector<int64_t> divisors;
  for (Constraint& constraint : sums.constraints) {
    divisors.push_back(1 + constraint.total / max_sum);
    constraint.total = 0;
  }
  sums.values.assign(static_cast<size_t>(clusters) * count, 0);
  std::vector<int64_t> rest(count, 0);
  for (size_t v = 0; v < cluster_of.size(); ++v) {
    if (cluster_of[v] == kNoCluster) continue;
    const int32_t* row = row_of(static_cast<int64_t>(v));
    int32_t* sum = sums.values.data() + size_t{cluster_of[v]} * count;
    for (size_t c = 0; c < count; ++c) {
      rest[c] += row[c];
      const int64_t given = divisors[c] == 1 ? rest[c] : rest[c] / divisors[c];
      sum[c] += static_cast<int32_t>(given);
      sums.constraints[c].total += given;
      rest[c] -= given * divisors[c];
    }
  }
  return sums;
}

// parts >= 2. A small graph is tried with several seeds and the best cut within the bounds taken:
// it costs nothing, and METIS' results differ by some per cent. Too few clusters for METIS (or no
// pairs) are dealt.
//
// `coarse` and METIS hold at most `memory` bytes together. What METIS takes for a pair differs by a
// half; it takes most on graphs that stay dense while they are coarsened, as R-MAT graphs do. If
// there is too little memory, METIS is tried again with three quarters of the pairs, chosen by
// hash. `coarse` then holds only these.
//   ResourceExhausted  not even a pair a cluster fits, and as CallMetis
//   Internal           as CallMetis
[[nodiscard]] StatusOr<CoarsePartition> PartitionCoarse(CoarseGraph* coarse, int parts,
                                                        uint64_t seed, int64_t memory);

// Keeps three quarters of the pairs, about, chosen by hash: other ones for each key.
void ThinPairs(uint64_t key, CoarseGraph* coarse);

}  // namespace halograph
