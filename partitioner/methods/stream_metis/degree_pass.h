// Step 1 of stream-metis: one pass that counts. Every later pass compares its number of edges with
// this one's.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/stream/node_array.h"

namespace halograph {

// Beside one another since a pass touches both. Counts stop at kMaxDegree.
struct StreamDegree {
  uint32_t in = 0;     // in-edges, self-loops included: what balancing edges counts
  uint32_t total = 0;  // ends of edges to others: a node of total 0 has no neighbour
};
inline constexpr uint32_t kMaxDegree = 2147483647;

// Ids of nodes and clusters are 32 bits; the last stands for none.
inline constexpr int64_t kMaxStreamNodes = int64_t{4294967295} - 1;

struct Degrees {
  NodeArray<StreamDegree> of;  // per union id
  int64_t edges = 0;           // of the stream
  int64_t volume = 0;          // sum of total
  int64_t connected = 0;       // nodes with a neighbour

  [[nodiscard]] int64_t num_nodes() const { return of.size(); }
};

//   ResourceExhausted  more than kMaxStreamNodes nodes, or no memory
// and whatever the edge stream reports.
[[nodiscard]] StatusOr<Degrees> CountDegrees(const Dataset& dataset);

}  // namespace halograph
