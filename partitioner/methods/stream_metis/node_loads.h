// Loads of the partitions in every constraint, kept while single nodes move: PartLoads over rows
// that are made when they are needed. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partitioner/methods/metis/rebalance.h"
#include "partitioner/methods/stream_metis/node_weights.h"

namespace halograph {

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
