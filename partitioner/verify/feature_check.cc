#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/progress.h"
#include "common/sampling/weighted_table.h"
#include "partitioner/verify/checks.h"
#include "partitioner/write/feature_dtype.h"

namespace halograph {
namespace {

// Row `row` of the input's tensor, or nullptr if it has no such row.
const std::byte* InputRow(const InputTensor& tensor, int64_t row) {
  const int64_t stored = row < 0 ? -1 : row / tensor.row_divisor;
  if (stored < 0 || stored >= tensor.array->rows()) return nullptr;
  return tensor.array->data().data() + stored * static_cast<int64_t>(tensor.array->row_bytes());
}

// One feature in one part. `input_row(i)`: the input's row that row i should equal, -1 if unknown
// (a difference that was reported already); `show(row)`: how a person names it.
template <typename InputRowOf, typename Show>
void VerifyRows(const NpyArray& rows, const InputTensor& tensor, const std::string& what, int part,
                InputRowOf&& input_row, Show&& show, Findings* findings) {
  Progress progress("verifying " + what, rows.rows());
  constexpr int64_t kStep = 4096;
  const size_t row_bytes = rows.row_bytes();
  std::vector<std::byte> stored(row_bytes);
  for (int64_t i = 0; i < rows.rows(); ++i) {
    if (i % kStep == 0) progress.Advance(kStep);
    const int64_t row = input_row(i);
    const std::byte* expected = InputRow(tensor, row);
    if (expected == nullptr) continue;
    // Of a row that cannot be stored nothing equal can be there.
    const bool fits = StoreRow(tensor, expected, row / tensor.row_divisor, stored.data()).ok();
    if (fits && std::memcmp(rows.data().data() + i * row_bytes, stored.data(), row_bytes) == 0) {
      continue;
    }
    findings->Add("{}, part {}: the row of {} differs from {}", what, part, show(row), tensor.path);
  }
  findings->report().feature_rows += rows.rows();
}

}  // namespace

void VerifyFeatures(const Dataset& dataset, const PartitionSet& graph, const NodeMaps& maps,
                    Findings* findings) {
  const Schema& schema = graph.schema();
  for (const auto& part : graph.parts()) {
    for (int t = 0; t < static_cast<int>(schema.node_types.size()); ++t) {
      const InputNodeType& input = dataset.node_types[t];
      const int64_t first = graph.book().NodeRange(t, part->part()).begin;
      for (size_t f = 0; f < input.features.size(); ++f) {
        VerifyRows(
            part->NodeFeature(t, static_cast<int>(f)), input.features[f],
            fmt::format("feature `{}` of node type `{}`", input.features[f].spec.name, input.name),
            part->part(), [&](int64_t i) { return maps.InputId(t, first + i); },
            [&](int64_t id) { return fmt::format("node {}", maps.OriginalId(t, id)); }, findings);
      }
    }
    for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
      const InputRelation& input = dataset.relations[r];
      const std::span<const int64_t> ids = part->EdgeOriginalIds(r);
      for (size_t f = 0; f < input.features.size(); ++f) {
        VerifyRows(
            part->EdgeFeature(r, static_cast<int>(f)), input.features[f],
            fmt::format("feature `{}` of relation `{}`", input.features[f].spec.name,
                        input.triple()),
            part->part(), [&](int64_t i) { return ids[i]; },
            [](int64_t id) { return fmt::format("edge {}", id); }, findings);
      }
    }
  }
}

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
            "sampling tables by `{}` of relation `{}`, part {}: the tables of node {} do not match "
            "its weights",
            features[f].name, schema.relations[r].triple(), part->part(), csc.nodes.begin + node);
      }
    }
  }
}

}  // namespace halograph
