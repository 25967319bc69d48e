// What the first edges of a graph say: how fast they are read, and how many of them are there in
// both directions.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

struct EdgeSample {
  int64_t edges = 0;       // read
  double read_ns = 3;      // an edge, on a thread of its own
  double reciprocity = 0;  // share of edges (self-loops aside) whose reverse was read too
};

// Edges that are read at most: each relation's first, in proportion.
inline constexpr int64_t kSampledEdges = int64_t{1} << 26;

// Memory: a few MB. Errors are those of the edge stream.
[[nodiscard]] StatusOr<EdgeSample> SampleEdges(const Dataset& dataset,
                                               int64_t most_edges = kSampledEdges);

}  // namespace halograph
