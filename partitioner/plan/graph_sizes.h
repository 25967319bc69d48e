// What a plan knows of a graph: its sizes, features included, and what a sample of its edges
// tells. Sizes come from a data set, or from numbers that the user gives.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/stream/graph_counts.h"

namespace halograph {

inline constexpr int64_t kId = sizeof(int64_t);  // bytes of an id, where none is shortened

struct GraphSizes {
  GraphCounts counts;
  std::vector<int64_t> node_row_bytes;  // per type: features of one node
  std::vector<int64_t> edge_row_bytes;  // per relation: features of one edge
  int64_t task_bytes = 0;               // arrays of all task sets
  int64_t decoded_bytes = 0;            // temporary files of what had to be converted (text)

  [[nodiscard]] static GraphSizes Of(const Dataset& dataset);
  // One node type and one relation. `feature_bytes`: of one node.
  [[nodiscard]] static GraphSizes Of(int64_t nodes, int64_t edges, int64_t feature_bytes);

  [[nodiscard]] int64_t node_feature_bytes() const;  // of all nodes
  [[nodiscard]] int64_t edge_feature_bytes() const;  // of all edges
};

// What the first edges of a graph tell: how fast they are read, and how many of them exist in both
// directions.
struct EdgeSample {
  int64_t edges = 0;       // read
  double read_ns = 3;      // an edge, on a thread of its own
  double reciprocity = 0;  // share of edges (self-loops aside) whose reverse was read too
};

// Maximum number of edges that are read: the first of each relation, in proportion.
inline constexpr int64_t kSampledEdges = int64_t{1} << 26;

// Memory: a few MB. Errors are those of the edge stream.
[[nodiscard]] StatusOr<EdgeSample> SampleEdges(const Dataset& dataset,
                                               int64_t most_edges = kSampledEdges);

}  // namespace halograph
