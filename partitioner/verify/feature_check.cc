#include "partitioner/verify/feature_check.h"

#include <cstring>
#include <string>

#include "common/base/progress.h"

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
  for (int64_t i = 0; i < rows.rows(); ++i) {
    if (i % kStep == 0) progress.Advance(kStep);
    const int64_t row = input_row(i);
    const std::byte* expected = InputRow(tensor, row);
    if (expected == nullptr) continue;
    if (std::memcmp(rows.data().data() + i * row_bytes, expected, row_bytes) == 0) continue;
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

}  // namespace halograph
