#include "common/graph/task_kind.h"

#include <algorithm>
#include <cmath>

namespace halograph {
namespace {

constexpr NodeTaskKind kKinds[] = {NodeTaskKind::kClassification, NodeTaskKind::kMultiLabel,
                                   NodeTaskKind::kRegression};

}  // namespace

std::string_view ToString(NodeTaskKind kind) {
  switch (kind) {
    case NodeTaskKind::kClassification:
      return "classification";
    case NodeTaskKind::kMultiLabel:
      return "multi-label";
    case NodeTaskKind::kRegression:
      break;
  }
  return "regression";
}

std::optional<NodeTaskKind> ParseNodeTaskKind(std::string_view word) {
  for (const NodeTaskKind kind : kKinds) {
    if (word == ToString(kind)) return kind;
  }
  return std::nullopt;
}

NodeTaskKind KindOfLabels(const Json& metadata, DType dtype, int64_t columns) {
  const bool whole = !IsFloating(dtype) || metadata.contains("num_classes");
  if (!whole) return NodeTaskKind::kRegression;
  return columns == 1 ? NodeTaskKind::kClassification : NodeTaskKind::kMultiLabel;
}

bool HasLabel(NodeTaskKind kind, std::span<const double> row) {
  if (kind == NodeTaskKind::kRegression) {
    return std::none_of(row.begin(), row.end(), [](double value) { return std::isnan(value); });
  }
  return std::any_of(row.begin(), row.end(), [](double label) {
    return !std::isnan(label) && label != static_cast<double>(kUnlabelled);
  });
}

}  // namespace halograph
