// Step 5 of stream-metis: single nodes move, first to where most of their neighbours are
// (Refine), and to partitions with room where a bound is exceeded (BalanceOwners).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/methods/stream_metis/neighbour_counts.h"
#include "partitioner/methods/stream_metis/node_weights.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

// Maximum number of passes of one round. If counters for all nodes need more, rounds take turns.
inline constexpr int64_t kMaxPassesPerRound = 8;

// What refinement and balance work on; owners and loads agree before and after each step.
struct RefinedOwners {
  const Dataset* dataset = nullptr;
  const Degrees* degrees = nullptr;
  int parts = 0;
  int64_t counter_bytes = 0;  // at least `parts`
  uint64_t seed = 0;
  std::span<uint16_t> owners;  // per node
  NodeLoads* loads = nullptr;

  // Nodes whose counters fit.
  [[nodiscard]] int64_t NodesPerPass() const;
  // In order, covering all nodes.
  [[nodiscard]] std::vector<IdRange> Ranges() const;
};

struct RefinementRound {
  int64_t cut = 0;  // edges of the stream between different owners, before the round
  int64_t moves = 0;
};

// Moves nodes to where most of their neighbours are, by descending gain, never above a bound. One
// round is one pass over the edges (more if counters for all nodes do not fit) and moves a hashed
// half of the nodes, so that few neighbours move at once; rounds take the halves in turn. Rounds
// end early when one finds nothing to move. Errors as NeighbourCounts.
[[nodiscard]] StatusOr<std::vector<RefinementRound>> Refine(const RefinedOwners& state, int rounds);

// Makes bounds hold that do not hold yet, as Rebalance does for METIS, but with neighbours counted
// from the stream. Nodes move one by one from overfull partitions to partitions with room, first
// those that lose the fewest neighbours for what they relieve. Takes no pass if all bounds hold.
// Else it takes passes until they hold, no move helps, or kMaxBalancePasses are done. Returns the
// number of moves. Errors as NeighbourCounts.
inline constexpr int64_t kMaxBalancePasses = 8;
[[nodiscard]] StatusOr<int64_t> BalanceOwners(const RefinedOwners& state);

}  // namespace halograph
