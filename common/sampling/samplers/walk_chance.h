// How likely nodes and edges are in a subgraph of random walks, exactly: for graphs that are small
// enough to look at what lies around every node. A walk begins at a node, all alike, and takes
// `length` steps, each to the source of one in-edge, all alike; it ends where there is none. It
// brings every node that it comes to. What many walks bring: inclusion_chance.h. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"

namespace halograph {

// The in-edges of one relation, views: those of node v come from
// sources[offsets[v] .. offsets[v + 1]), parallel ones each, in any order.
struct InEdgeLists {
  std::span<const int64_t> offsets;  // nodes + 1, from 0 to the number of edges
  std::span<const uint32_t> sources;

  [[nodiscard]] int64_t num_nodes() const { return std::ssize(offsets) - 1; }
  [[nodiscard]] int64_t num_edges() const { return std::ssize(sources); }
};

struct WalkChances {
  std::vector<double> nodes;  // that one walk brings the node
  std::vector<double> edges;  // that it brings both ends of the edge, by place in `sources`
};

// Some four seconds.
inline constexpr int64_t kMaxWalkWork = int64_t{1} << 30;

// By the time until a walk comes to a node, or, after one end of an edge, to the other: only sums,
// products and quotients of numbers above 0, so that the relative error is some 1e-15. The same
// bits on every machine. `max_work`: neighbours looked at, at most. With a length of 2 they are
// twice the sum of all degrees and of their squares; there are never more than (nodes + edges / 2)
// * edges * length. Memory: 8 * length + 44 bytes an edge.
//   InvalidArgument    offsets that are none, a source that is no node, a relation that is not
//                      symmetric (a source and a destination are named)
//   OutOfRange         a length below 0
//   ResourceExhausted  more work than max_work: the chances can be estimated from subgraphs
//                      instead (presampled_chance.h)
// Throws std::bad_alloc: whether there was memory must not say how chances are found.
[[nodiscard]] StatusOr<WalkChances> ExactWalkChances(const InEdgeLists& graph, int length,
                                                     int64_t max_work = kMaxWalkWork);

}  // namespace halograph
