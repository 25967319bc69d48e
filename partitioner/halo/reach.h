// Which nodes outside a part lie within H hops of it (common/graph/halo.h says what a hop is).
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "common/graph/partition.h"

namespace halograph {

// A set of nodes of one type: a bit a node.
class NodeBits {
 public:
  explicit NodeBits(int64_t nodes) : words_(static_cast<size_t>(nodes + 63) / 64) {}

  void Clear() { words_.assign(words_.size(), 0); }
  void Set(int64_t node) { words_[Word(node)] |= Bit(node); }
  [[nodiscard]] bool Has(int64_t node) const { return (words_[Word(node)] & Bit(node)) != 0; }
  [[nodiscard]] int64_t Count() const;

  // visit(node) for every node, ascending.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (size_t word = 0; word < words_.size(); ++word) {
      for (uint64_t left = words_[word]; left != 0; left &= left - 1) {
        visit(static_cast<int64_t>(word * 64) + std::countr_zero(left));
      }
    }
  }

 private:
  static size_t Word(int64_t node) { return static_cast<size_t>(node) / 64; }
  static uint64_t Bit(int64_t node) { return uint64_t{1} << (static_cast<size_t>(node) % 64); }
  std::vector<uint64_t> words_;
};

// Not thread-safe. Memory: three bits a node of the graph, whatever the number of parts and hops.
class HaloReach {
 public:
  // `graph`: all parts, topology and features opened. It must outlive this object.
  explicit HaloReach(const PartitionSet& graph);

  // Starts over, for a part. Requires hops > 0.
  void Compute(int part, int hops);

  // 1 to `hops` hops outside. By node type.
  [[nodiscard]] const NodeBits& Nodes(int node_type) const {
    return nodes_[static_cast<size_t>(node_type)];
  }
  // 1 to `hops` - 1 hops outside.
  [[nodiscard]] const NodeBits& Destinations(int node_type) const {
    return destinations_[static_cast<size_t>(node_type)];
  }

  [[nodiscard]] static int64_t Bytes(const std::vector<int64_t>& nodes_of_types);

 private:
  void Expand(int part, int node_type, int64_t node);

  const PartitionSet& graph_;
  std::vector<NodeBits> nodes_;
  std::vector<NodeBits> destinations_;
  std::vector<NodeBits> frontier_;  // of the hop at hand
};

}  // namespace halograph
