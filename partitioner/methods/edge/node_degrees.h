// Degrees of all nodes by one pass: what edge partitioners rank the ends of an edge by, and what a
// partition will hold of a node (its in-edges).
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

// Both stop at the largest 32-bit number, which only a node with four billion edges meets.
struct NodeDegree {
  uint32_t total = 0;  // in and out; a self-loop counts twice
  uint32_t in = 0;
};

struct NodeDegrees {
  NodeArray<NodeDegree> of;  // by union id
  int64_t edges = 0;

  // One pass over the edges; its errors, and ResourceExhausted without memory.
  [[nodiscard]] static StatusOr<NodeDegrees> Count(const Dataset& dataset);
};

}  // namespace halograph
