// The draws that make subgraphs (GraphSAINT; SAMPLING.md, "Graph-wise draws"): nodes by degree, the
// destinations of edges, the roots of walks, all with replacement and by exact integers, so that
// the same batch seed gives the same nodes everywhere. What follows from a node, an edge of it or a
// step of a walk, is drawn by the neighbour sampler, with replacement.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/rng.h"
#include "common/base/status.h"
#include "common/sampling/request.h"

namespace halograph {

// Draws that make a subgraph, at most: what is drawn from a node is a fanout.
inline constexpr int64_t kMaxSubgraphDraws = kMaxFanout;

// The key of the draws that begin a minibatch's subgraph: of no layer.
[[nodiscard]] constexpr uint64_t SubgraphKey(uint64_t batch_seed) {
  return SubKey(Mix(batch_seed), ~uint64_t{0} - 1);
}

// Where a number falls in the sums of all degrees, one after the other. Immutable: several threads
// may draw from one. It takes .13 bytes a node beside the degrees, which are not owned and must
// stay as they are.
class DegreeSums {
 public:
  // A pass over the degrees.
  explicit DegreeSums(std::span<const uint32_t> degrees);

  [[nodiscard]] uint64_t total() const { return before_.back(); }
  // The first node with a sum of degrees, up to and with its own, above `target`.
  // Requires target < total().
  [[nodiscard]] int64_t Find(uint64_t target) const;

 private:
  std::span<const uint32_t> degrees_;
  std::vector<uint64_t> before_;  // sums of degrees before each block of 64, and of all
};

// Nodes in the order in which they were first drawn, each once, and how often each was.
struct DrawnNodes {
  std::vector<int64_t> nodes;
  std::vector<int32_t> counts;

  bool operator==(const DrawnNodes&) const = default;
};

// `draws` nodes, each with its degree's share of all. What they are for `saint-node`, and the
// destinations, of which each gives as many of its in-edges as it was drawn, for `saint-edge`.
//   OutOfRange          draws below 0 or above kMaxSubgraphDraws
//   FailedPrecondition  draws from a relation without edges
[[nodiscard]] StatusOr<DrawnNodes> DrawByDegree(const DegreeSums& sums, int64_t draws,
                                                uint64_t subgraph_key);

// `draws` of `nodes` nodes, all alike: the roots of walks. Errors as DrawByDegree, of a type
// without nodes.
[[nodiscard]] StatusOr<DrawnNodes> DrawUniformly(int64_t nodes, int64_t draws,
                                                 uint64_t subgraph_key);

// Counts what was picked, in order: where walkers are after a step, say. Requires at most
// kMaxSubgraphDraws picks.
[[nodiscard]] DrawnNodes CountPicked(std::span<const int64_t> picked);

}  // namespace halograph
