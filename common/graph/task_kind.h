// What the labels of a task about nodes are, as its data says, and which of them are none. The
// partitioner, which looks at an input, and the trainer, which learns from it, go by this one rule.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/storage/dtype.h"
#include "common/storage/json.h"

namespace halograph {

enum class NodeTaskKind : uint8_t {
  kClassification,  // one class a node
  kMultiLabel,      // several labels a node, each 0 or 1
  kRegression,      // one value a node, or several
};

// The label of a seed that has none, and of several labels one that is not known. In a partition
// folder it is -1, or NaN among floats. A value is never -1 in this sense.
inline constexpr int64_t kUnlabelled = -1;

// "classification", "multi-label", "regression": as --task-kind and a task's metadata have it.
[[nodiscard]] std::string_view ToString(NodeTaskKind kind);
// The other way; nullopt: no kind is called so.
[[nodiscard]] std::optional<NodeTaskKind> ParseNodeTaskKind(std::string_view word);

// The key of a task's metadata that says its kind.
inline constexpr char kTaskKindKey[] = "task_kind";

// The kind as labels of `columns` columns look, where nothing says it. One column of whole numbers,
// or of floats where the task's metadata has num_classes: classification. Several such columns:
// multi-label. Other floats are values, whole or not: regression.
[[nodiscard]] NodeTaskKind KindOfLabels(const Json& metadata, DType dtype, int64_t columns);

// Whether a row has a label: a regression's has all its values; any other has one that is neither
// NaN nor -1.
[[nodiscard]] bool HasLabel(NodeTaskKind kind, std::span<const double> row);

}  // namespace halograph
