// Calls METIS. This is the only place that names METIS' functions. One call, and one attempt: a
// call followed by moves of single nodes until all bounds hold.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/metis/folded_graph.h"
#include "partitioner/methods/metis/vertex_weights.h"
#include "partitioner/stream/memory_plan.h"

namespace halograph {

// The imbalance that METIS aims at. It is well below the bounds that are promised, because METIS
// misses its aim by some per cent when there are several constraints. `edges` is for constraints
// with a larger tolerance than kNodeTolerance.
struct MetisImbalance {
  float nodes = 1.02F;
  float edges = 1.06F;
};

// Bytes of what METIS gets: neighbours, offsets and weights.
[[nodiscard]] int64_t InputBytes(const FoldedGraph& graph, const VertexWeights& weights);

// One call of METIS_PartGraphKway: owners per node for `parts` >= 2. A pure function of the
// arguments: the seed may be any number (METIS itself takes 31 bits and gives 0 and 1 the same
// result). METIS changes none of the arrays.
//
// METIS runs in a process of its own, which ends with this one, for three reasons. What memory it
// takes cannot be told before, since that depends on how fast the graph shrinks while it is
// coarsened: the process gets `room` bytes beside what it shares with this one. METIS takes SIGTERM
// for an error of its own: its handlers never run here. And METIS leaks memory when it fails.
// Calls wait for one another, since two would take the same memory.
//   ResourceExhausted  METIS ran out of memory, or the system killed it
//   Internal           METIS refused the input or failed, or no process could be started
[[nodiscard]] StatusOr<std::vector<int32_t>> CallMetis(const FoldedGraph& graph,
                                                       const VertexWeights& weights, int parts,
                                                       uint64_t seed,
                                                       const MetisImbalance& imbalance = {},
                                                       int64_t room = kAnyMemory);

// One attempt: METIS, then nodes moved until bounds hold.
struct MetisAttempt {
  std::vector<int32_t> owners;  // per node
  std::vector<double> balance;  // max / mean per constraint
  double excess = 0;            // above bounds, in even shares (PartLoads)
  int64_t cut = 0;              // METIS' objective: weight of folded edges cut
  int64_t moves = 0;            // of nodes, after METIS
  bool dealt = false;           // there are edges, but too few nodes for METIS

  [[nodiscard]] bool BetterThan(const MetisAttempt& other) const {
    return std::pair(excess, cut) < std::pair(other.excess, other.cut);
  }
};

// With fewer nodes a partition METIS leaves partitions empty.
inline constexpr int64_t kMetisNodesPerPart = 8;

// parts >= 2. If there are too few nodes for METIS, or no edges, nodes get random owners and are
// then balanced. A pure function of the arguments. Errors as CallMetis.
[[nodiscard]] StatusOr<MetisAttempt> AttemptMetis(const FoldedGraph& graph,
                                                  const VertexWeights& weights, int parts,
                                                  uint64_t seed, const MetisImbalance& aims = {},
                                                  int64_t room = kAnyMemory);

// Warns that the owners of `what` ("nodes", "clusters of nodes") were dealt, and says what to do.
void WarnOfDealtOwners(std::string_view method, int64_t count, std::string_view what, int parts);

}  // namespace halograph
