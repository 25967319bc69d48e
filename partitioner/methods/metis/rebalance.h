// Moves nodes until a partitioning keeps its bounds; METIS with several constraints often
// exceeds them. Nodes move one by one from overfull partitions to partitions with room, those
// that add least to the cut first. Deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/methods/metis/folded_graph.h"
#include "partitioner/methods/metis/vertex_weights.h"

namespace halograph {

// Loads of all partitions in all constraints, against their bounds. Not thread-safe.
class PartLoads {
 public:
  // Keeps a reference to `weights`.
  PartLoads(const VertexWeights& weights, const std::vector<int32_t>& owners, int parts);

  // Above its bound by the most, summed over partitions and constraints, each in even shares.
  // 0: every bound holds.
  [[nodiscard]] double Excess() const;
  // What Excess would change by if a node moved.
  [[nodiscard]] double ExcessChange(const int32_t* row, int from, int to) const;
  // Whether `row` weighs in a constraint in which `part` is above its bound.
  [[nodiscard]] bool Relieves(const int32_t* row, int part) const;
  void Move(const int32_t* row, int from, int to);
  // max / mean per constraint.
  [[nodiscard]] std::vector<double> Balance() const;
  // The partition with the most room in the constraints in which `part` has too much.
  [[nodiscard]] int Emptiest(int part) const;

 private:
  [[nodiscard]] int64_t Load(int part, size_t constraint) const {
    return loads_[static_cast<size_t>(part) * constraints_ + constraint];
  }

  size_t constraints_;
  int parts_;
  std::vector<int64_t> loads_;   // [parts * constraints]
  std::vector<int64_t> bounds_;  // per constraint: tolerance * mean, rounded up to what is possible
  std::vector<double> means_;
};

// Moves nodes until every bound holds, nothing helps any more, or `max_rounds` rounds are over.
// Returns the number of moves; `loads` is kept up to date.
int64_t Rebalance(const FoldedGraph& graph, const VertexWeights& weights, int parts, int max_rounds,
                  std::vector<int32_t>* owners, PartLoads* loads);

}  // namespace halograph
