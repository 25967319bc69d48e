// Generates a graph of nested blocks with hubs. Real graphs have communities of several sizes,
// one within the other, and a few nodes of very high degree.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/generate/generated_graph.h"

namespace halograph {

// Every node is dealt to an innermost block at random, so ids tell nothing. Of the edges, shares[i]
// stay within a block of level i (any smaller one included), the rest go anywhere.
//
// Hubs: the share `hub_edges` of the edges starts at one of nodes * hubs nodes, of which the one
// ranked r gets edges in proportion to 1 / sqrt(r): with the defaults 100 times the usual degree on
// average, the first of 500 hubs a thousand times. A hub's edges reach one level further out, since
// a block of the innermost level has fewer nodes than a hub has neighbours.
struct HierarchicalOptions {
  int64_t nodes = 1'000'000;                     // 1 to 2^31
  double average_degree = 16;                    // directed edges / nodes
  std::vector<int64_t> blocks = {8, 8, 16};      // per level, outermost first; each 1 and above
  std::vector<double> shares = {0.1, 0.2, 0.5};  // per level; sum at most 1
  double hubs = 0.0005;                          // share of the nodes; 0 to 1
  double hub_edges = 0.1;                        // 0 to 1
  bool labels = true;                            // the outermost block, and a task
  int64_t feature_dim = 0;                       // that tell the outermost block; 0: none
  double noise = 5;                              // as SbmOptions has it
  SetShares set_shares;
  uint64_t seed = 0;

  // InvalidArgument naming option, value and range.
  [[nodiscard]] Status Validate() const;
};

// Writes the graph: no self-loops, no duplicates, each edge listed in both directions, about
// nodes * average_degree directed edges. The same options give the same bytes. Memory: 8 bytes an
// undirected edge (16 while drawing), 16 a node.
//   InvalidArgument  options; more edges than such blocks can hold
// and what WriteGeneratedGraph reports.
[[nodiscard]] Status GenerateHierarchical(const HierarchicalOptions& options,
                                          const GenerateTarget& target);

}  // namespace halograph
