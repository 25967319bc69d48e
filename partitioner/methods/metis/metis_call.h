// Calls METIS. This is the only place that names METIS' functions. One call, and one attempt: a
// call followed by moves of single nodes until all bounds hold.
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

// Lets SIGTERM end the process while METIS runs. METIS takes the signal for an error of its own: it
// jumps out of its work, memory allocation included, and returns. Made by the thread that calls
// METIS, around the call. If the program ignores or handles SIGTERM, the guard only keeps it from
// this thread.
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

// The imbalance that METIS aims at. It is well below the bounds that are promised, because METIS
// misses its aim by some per cent when there are several constraints. `edges` is for constraints
// with a larger tolerance than kNodeTolerance.
struct MetisImbalance {
  float nodes = 1.02F;
  float edges = 1.06F;
};

// One call of METIS_PartGraphKway: owners per node for `parts` >= 2. A pure function of the
// arguments: the seed may be any number (METIS itself takes 31 bits and gives 0 and 1 the same
// result). METIS changes none of the arrays. Calls of one process wait for one another, since METIS
// keeps global state.
//   ResourceExhausted  METIS ran out of memory
//   Internal           METIS refused the input or failed
[[nodiscard]] StatusOr<std::vector<int32_t>> CallMetis(const FoldedGraph& graph,
                                                       const VertexWeights& weights, int parts,
                                                       uint64_t seed,
                                                       const MetisImbalance& imbalance = {});

// One attempt: METIS, then nodes moved until bounds hold.
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

// parts >= 2. If there are too few nodes for METIS, or no edges, nodes get random owners and are
// then balanced. A pure function of the arguments. Errors as CallMetis.
[[nodiscard]] StatusOr<MetisAttempt> AttemptMetis(const FoldedGraph& graph,
                                                  const VertexWeights& weights, int parts,
                                                  uint64_t seed, const MetisImbalance& aims = {});

}  // namespace halograph
