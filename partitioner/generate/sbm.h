// Generates a planted partition (stochastic block model) with features and labels. A graph
// neural network learns them better than a model that sees the features alone.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "partitioner/generate/generated_graph.h"

namespace halograph {

// Every node has a class; an edge stays within its class with probability `homophily`. A feature
// row is its class's corner of a hypercube plus `noise` times a normal draw, scaled to variance 1.
//
// The defaults are those of the quickstart. A class's corners are sqrt(dim) long, so telling 8
// classes apart by one row of 64 has d' = 8 / noise = 1.6: about 60 % right at best. The mean of 10
// neighbours divides the noise by sqrt(10) and the signal by 1.3: d' = 3.9, above 95 %.
struct SbmOptions {
  int64_t nodes = 100'000;     // 1 to 2^31
  int64_t classes = 8;         // 1 to 65536
  double average_degree = 10;  // directed edges / nodes; each edge is listed in both directions
  double homophily = 0.8;      // 0 to 1
  int64_t feature_dim = 64;    // 0: no features
  double noise = 5;            // >= 0
  SetShares shares;
  uint64_t seed = 0;

  // InvalidArgument naming option, value and range.
  [[nodiscard]] Status Validate() const;
};

// Writes the graph: no self-loops, no duplicates, in- equal to out-neighbours, about
// nodes * average_degree directed edges. The same options give the same bytes. Memory: 8 bytes an
// undirected edge (16 while drawing), 16 a node.
//   InvalidArgument  options; more edges than such communities can hold
// and what WriteGeneratedGraph reports.
[[nodiscard]] Status GenerateSbm(const SbmOptions& options, const GenerateTarget& target);

}  // namespace halograph
