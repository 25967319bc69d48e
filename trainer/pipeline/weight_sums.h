// Sums of the weights (--edge-weight) of all in-edges of each node, whatever is drawn of them: what
// GCN divides by where its sums over drawn edges are estimates.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "client/graph_store.h"
#include "client/row_store.h"
#include "common/base/status.h"
#include "common/sampling/minibatch.h"
#include "trainer/pipeline/edge_weights.h"

namespace halograph {

// Of one relation that leads from a node type to itself. Immutable. 4 bytes a node.
class WeightSums {
 public:
  // By global id.
  WeightSums(int type, std::vector<float> sums) : type_(type), sums_(std::move(sums)) {}

  // Makes the degrees of the minibatch's blocks these sums. Requires blocks that have degrees, of
  // the relation.
  void SetDegrees(Minibatch* minibatch) const;

 private:
  const int type_;
  const std::vector<float> sums_;
};

// Reads the weight of every edge of the only relation of `weights`, once. `like`: the token and
// deadline of its calls. Errors as BatchMaker::Sample and PullRows.
[[nodiscard]] StatusOr<std::shared_ptr<const WeightSums>> ReadWeightSums(
    GraphStore* graph, RowStore* rows, const EdgeWeighing& weights, const CallContext& like);

}  // namespace halograph
