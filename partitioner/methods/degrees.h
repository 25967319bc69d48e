// Degrees of all nodes by one pass over the edges: what streaming methods begin with. Every later
// pass compares its number of edges with this one's (RepeatUnionEdges).
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

// Beside one another since a pass touches both. Counts stop at kMaxDegree.
struct NodeDegree {
  uint32_t in = 0;     // in-edges, self-loops included: what a partition will hold of a node
  uint32_t total = 0;  // ends of edges
};
inline constexpr uint32_t kMaxDegree = 2147483647;

// What a self-loop adds to its node's total.
enum class SelfLoops { kIgnored, kTwoEnds };

struct Degrees {
  NodeArray<NodeDegree> of;  // per union id
  int64_t edges = 0;         // of the stream
  int64_t volume = 0;        // sum of total
  int64_t connected = 0;     // nodes whose total is not 0

  [[nodiscard]] int64_t num_nodes() const { return of.size(); }
};

// ResourceExhausted without memory; and whatever the edge stream reports.
[[nodiscard]] StatusOr<Degrees> CountDegrees(const Dataset& dataset, SelfLoops self_loops);

}  // namespace halograph
