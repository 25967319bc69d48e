// Generates R-MAT (recursive matrix) graphs: skewed degrees at any size, for benchmarks.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/generate/generated_graph.h"

namespace halograph {

// Each edge falls through `log2_nodes` levels into one quadrant of the adjacency matrix, with
// probabilities a, b, c, d (upper left, upper right, lower left, lower right).
struct RmatOptions {
  int log2_nodes = 17;                            // 0 to 31
  int64_t edges = 1'000'000;                      // drawn; 0 to 2^40
  double a = 0.57, b = 0.19, c = 0.19, d = 0.05;  // sum 1
  bool undirected = false;                        // list each edge in both directions: 2 * edges
  bool dedup = false;       // drop self-loops and duplicates, not drawn again: fewer edges
  bool permute_ids = true;  // else low ids have the high degrees
  int64_t feature_dim = 0;  // standard normal noise; 0: none
  int64_t classes = 0;      // random labels and a task; 0: none
  SetShares shares;
  uint64_t seed = 0;

  // InvalidArgument naming option, value and range.
  [[nodiscard]] Status Validate() const;
};

// The same options give the same bytes. Memory: none that grows with the edges, but with `dedup`
// 8 bytes a drawn edge; 8 bytes a node if there is a task.
[[nodiscard]] Status GenerateRmat(const RmatOptions& options, const GenerateTarget& target);

}  // namespace halograph
