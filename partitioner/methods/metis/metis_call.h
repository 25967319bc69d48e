// METIS takes SIGTERM for an error of its own: it jumps out of whatever it was doing, memory
// allocation included, and returns. While this lives, SIGTERM ends the process instead, as it does
// at any other time.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <signal.h>

#include "common/base/status.h"
#include "partitioner/methods/metis/folded_graph.h"
#include "partitioner/methods/metis/vertex_weights.h"

namespace halograph {

// Of the thread that calls METIS, around the call. Where SIGTERM is ignored or handled by the
// program it is only kept from the thread, until this is gone.
class TerminationGuard {
 public:
  TerminationGuard();
  ~TerminationGuard();
  TerminationGuard(const TerminationGuard&) = delete;
  TerminationGuard& operator=(const TerminationGuard&) = delete;

 private:
  void Watch();

  sigset_t before_{};
  std::atomic<bool> over_{false};
  std::thread watcher_;
};

// One call of METIS_PartGraphKway: the only place that names METIS.

// What METIS is told to aim at, well below the bounds that are promised, since with several
// constraints it misses what it aims at by some per cent. `edges` is for constraints with a larger
// tolerance than kNodeTolerance.
struct MetisImbalance {
  float nodes = 1.02F;
  float edges = 1.06F;
};

// Owners per node for `parts` >= 2. A pure function of the arguments: the seed may be any number
// (METIS itself takes 31 bits and gives 0 and 1 the same result). METIS changes none of the
// arrays. Calls of one process wait for one another, since METIS keeps global state.
//   ResourceExhausted  METIS ran out of memory
//   Internal           METIS refused the input or failed
[[nodiscard]] StatusOr<std::vector<int32_t>> CallMetis(const FoldedGraph& graph,
                                                       const VertexWeights& weights, int parts,
                                                       uint64_t seed,
                                                       const MetisImbalance& imbalance = {});

// One attempt at a partitioning of a folded graph: METIS, then nodes moved until bounds hold.

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
