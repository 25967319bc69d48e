#include "partitioner/verify/weight_check.h"

#include <algorithm>
#include <vector>

#include "common/sampling/weighted_table.h"

namespace halograph {
namespace {

// Whether the node, whose in-edges begin at `begin`, has in the table what was made of its weights.
bool Same(const WeightTableMemory& made, const WeightTable& table, int64_t node, int64_t begin) {
  if (made.drawable()[0] != table.drawable[node]) return false;
  if (!std::equal(made.entries().begin(), made.entries().end(), table.entries + begin))
    return false;
  if (!std::equal(made.weights().begin(), made.weights().end(), table.weights + begin))
    return false;
  return made.heavy().empty() || made.heavy()[0] == table.heavy[begin / kHeavyDegree];
}

// The first node whose tables differ, or -1.
int64_t FirstDifference(const CscSegment& csc, const WeightTable& table, DType dtype,
                        const NpyArray& values) {
  WeightTableBuilder builder;
  std::vector<double> weights;
  for (int64_t node = 0; node < csc.nodes.size(); ++node) {
    const int64_t begin = csc.indptr[node];
    weights.resize(static_cast<size_t>(csc.indptr[node + 1] - begin));
    ConvertToDouble(dtype, values.data().data() + static_cast<size_t>(begin) * values.row_bytes(),
                    weights.size(), weights.data());
    if (!(SumOfWeights(weights) <= kMaxWeightSum)) return node;
    if (std::any_of(weights.begin(), weights.end(), [](double w) { return !(w >= 0); })) {
      return node;
    }
    WeightTableMemory made(1, std::ssize(weights));
    builder.Build(weights, 0, 0, made.room());
    if (!Same(made, table, node, begin)) return node;
  }
  return -1;
}

}  // namespace

void VerifyWeights(const PartitionSet& graph, Findings* findings) {
  const Schema& schema = graph.schema();
  for (const auto& part : graph.parts()) {
    for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
      const std::vector<TensorSpec>& features = schema.relations[r].features;
      for (size_t f = 0; f < features.size(); ++f) {
        if (!features[f].sampling) continue;
        const CscSegment& csc = part->Edges(r);
        const int64_t node = FirstDifference(csc, csc.weights[f], features[f].dtype,
                                             part->EdgeFeature(r, static_cast<int>(f)));
        if (node < 0) continue;
        findings->Add(
            "tables by `{}` of relation `{}`, part {}: those of node {} are not of its "
            "weights",
            features[f].name, schema.relations[r].triple(), part->part(), csc.nodes.begin + node);
      }
    }
  }
}

}  // namespace halograph
