// The weight of each node in each constraint, in the form that METIS takes. Plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "partitioner/methods/constraints.h"
#include "partitioner/methods/method.h"
#include "partitioner/methods/metis/folded_graph.h"

namespace halograph {

struct VertexWeights {
  std::vector<Constraint> constraints;
  std::vector<int32_t> values;  // node-major: [nodes * constraints]

  [[nodiscard]] size_t count() const { return constraints.size(); }
  [[nodiscard]] const int32_t* Row(int64_t node) const {
    return values.data() + static_cast<size_t>(node) * count();
  }
};

// One weight a node and constraint of ChooseConstraints.
//   ResourceExhausted  a sum exceeds `limit`
//   InvalidArgument    a task set that makes no sense (ResolveTaskColumns)
[[nodiscard]] StatusOr<VertexWeights> BuildVertexWeights(const Dataset& dataset,
                                                         const FoldedGraph& graph,
                                                         const BalanceOptions& balance,
                                                         int64_t limit = kMetisLimit);

}  // namespace halograph
