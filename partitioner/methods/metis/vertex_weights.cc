#include "partitioner/methods/metis/vertex_weights.h"

#include <numeric>

#include "common/base/units.h"

namespace halograph {

StatusOr<VertexWeights> BuildVertexWeights(const Dataset& dataset, const FoldedGraph& graph,
                                           const BalanceOptions& balance, int64_t limit) {
  VertexWeights weights;
  weights.constraints = ChooseConstraints(
      dataset, std::accumulate(graph.in_degrees.begin(), graph.in_degrees.end(), int64_t{0}),
      balance);
  LogSharedConstraint(dataset, weights.constraints);
  for (const Constraint& constraint : weights.constraints) {
    if (constraint.total > limit) {
      return ResourceExhausted(
          "metis: constraint {} sums up to {}, more than its 32-bit weights hold ({}); leave it "
          "out with --balance, or use --method random",
          constraint.name, FormatCount(constraint.total), FormatCount(limit));
    }
  }
  const size_t count = weights.count();
  const auto nodes = static_cast<size_t>(graph.num_nodes());
  weights.values.assign(nodes * count, 0);
  for (size_t c = 0; c < count; ++c) {
    const std::string& name = weights.constraints[c].name;
    if (name == "edges") {
      for (size_t v = 0; v < nodes; ++v) weights.values[v * count + c] = graph.in_degrees[v];
    } else if (!weights.constraints[c].node_types.empty()) {
      for (const int type : weights.constraints[c].node_types) {
        const auto first = graph.type_offsets.begin() + type;
        for (auto v = static_cast<size_t>(first[0]); v < static_cast<size_t>(first[1]); ++v) {
          weights.values[v * count + c] = 1;
        }
      }
    } else {
      HG_RETURN_IF_ERROR(ForEachTaskRow(dataset, graph.type_offsets, name, [&](int64_t node) {
        ++weights.values[static_cast<size_t>(node) * count + c];
      }));
    }
  }
  return weights;
}

}  // namespace halograph
