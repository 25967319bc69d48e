// How likely nodes and edges are in a subgraph, estimated from subgraphs drawn beforehand: for
// walks over graphs that are too large for exact chances (walk_chance.h). Counts are integers, so
// that the same subgraphs give the same bits in any order and everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace halograph {

// How far the estimated chances of nodes are from the true ones, relative to these.
struct ChanceError {
  double median = 0;  // half of the nodes are off by less
  double high = 0;    // 95 % of them are
};

// Not thread-safe while subgraphs are added. 4 bytes a node and 4 an edge.
class PresampledChances {
 public:
  PresampledChances(int64_t nodes, int64_t edges);

  // Counts one subgraph: its nodes and the edges between them, each once. Requires ids below the
  // numbers given, and less than 2^32 subgraphs.
  void Add(std::span<const int64_t> nodes, std::span<const int64_t> edges);

  [[nodiscard]] int64_t num_nodes() const { return std::ssize(nodes_); }
  [[nodiscard]] int64_t num_edges() const { return std::ssize(edges_); }
  [[nodiscard]] int64_t subgraphs() const { return subgraphs_; }
  // How often a node was in a subgraph, on average over all nodes: add subgraphs until it is what
  // is wanted. 0 without nodes.
  [[nodiscard]] double coverage() const;
  // Nodes that were in no subgraph.
  [[nodiscard]] int64_t unseen() const;

  // The share of subgraphs that had the node. Who asks has it in a subgraph now: what was in none
  // counts as if it had been in one. Requires subgraphs() > 0.
  [[nodiscard]] double ChanceOfSeen(int64_t node) const;
  // EdgeFactor (inclusion_chance.h) of an edge into `node`: how many subgraphs had the node for
  // each that had the edge, too. At least 1.
  [[nodiscard]] double FactorOfSeen(int64_t node, int64_t edge) const;

  // Expected from the counts: a share p of n subgraphs is off by sqrt((1 - p) / (n p)), normally
  // distributed; what was never seen is off by 1. To be told: nothing is drawn by it. Requires
  // subgraphs() > 0.
  [[nodiscard]] ChanceError NodeError() const;

 private:
  int64_t subgraphs_ = 0;
  int64_t seen_nodes_ = 0;  // sum of nodes_
  std::vector<uint32_t> nodes_;
  std::vector<uint32_t> edges_;
};

}  // namespace halograph
