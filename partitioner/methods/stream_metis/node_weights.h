// The weight of a node in every balanced constraint (ChooseConstraints): its type, its in-edges,
// its rows in train, valid and test; and the loads of the partitions while single nodes move.
// One byte per node and set, beside the degrees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/status.h"
#include "partitioner/methods/constraints.h"
#include "partitioner/methods/degrees.h"
#include "partitioner/methods/method.h"
#include "partitioner/methods/metis/rebalance.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/stream/node_array.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {

// Immutable; thread-safe.
class NodeWeights {
 public:
  // Keeps a reference to `degrees`. InvalidArgument as ResolveTaskColumns; ResourceExhausted.
  [[nodiscard]] static StatusOr<NodeWeights> Build(const Dataset& dataset, const Degrees& degrees,
                                                   const BalanceOptions& balance);

  // With tight tolerances.
  [[nodiscard]] const std::vector<Constraint>& constraints() const { return constraints_; }
  [[nodiscard]] size_t count() const { return constraints_.size(); }
  [[nodiscard]] int64_t num_nodes() const { return degrees_->num_nodes(); }
  // row[count()].
  void Row(int64_t node, int32_t* row) const;

 private:
  // Rows of one set a node: up to 254 in a byte, else 255 and the rest of the truth in `large`.
  struct SetRows {
    size_t constraint = 0;
    NodeArray<uint8_t> small;
    absl::flat_hash_map<int64_t, int32_t> large;

    void Add(int64_t node);
    [[nodiscard]] int32_t Of(int64_t node) const;
  };

  NodeWeights(const Dataset& dataset, const Degrees& degrees)
      : types_(dataset), degrees_(&degrees) {}

  std::vector<Constraint> constraints_;
  UnionNodes types_;
  std::vector<int> type_constraint_;  // per node type; -1: not balanced
  int edge_constraint_ = -1;
  std::vector<SetRows> sets_;
  const Degrees* degrees_;
};

// Loads of the partitions in every constraint while single nodes move: PartLoads over rows that are
// made when they are needed. Not thread-safe.
class NodeLoads {
 public:
  // Keeps a reference to `weights`.
  NodeLoads(const NodeWeights& weights, std::span<const uint16_t> owners, int parts);

  // The weights of a node; valid until the next call.
  [[nodiscard]] const int32_t* Row(int64_t node);
  [[nodiscard]] PartLoads& parts() { return loads_; }
  [[nodiscard]] const std::vector<Constraint>& constraints() const {
    return constraints_.constraints;
  }

 private:
  const NodeWeights* weights_;
  VertexWeights constraints_;  // no rows
  PartLoads loads_;
  std::vector<int32_t> row_;
};

}  // namespace halograph
