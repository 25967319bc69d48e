// What the labels of nodes mean, and how they are checked and converted once as they are read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/options/task_choices.h"
#include "trainer/seeds/seed_source.h"

namespace halograph {

// The label of a seed that has none, and of several labels one that is not known. In a partition
// folder it is -1, or NaN among floats.
inline constexpr int64_t kUnlabelled = -1;

// "classification", "multi-label", "regression": as --task-kind and a task's metadata have it.
[[nodiscard]] std::string_view ToString(NodeTaskKind kind);

// The key of a task's metadata that says its kind.
inline constexpr char kTaskKindKey[] = "task_kind";

// The kind of a task: what the user asks for, else what its metadata says, else as its labels look.
// One column of whole numbers, or a task that says its num_classes: classification. Several columns
// of whole numbers or bools, or of floats where the task says its num_classes: multi-label. Other
// floats: regression. Asks for no row: every rank decides alike.
//   InvalidArgument    the metadata says what is no kind; labels of several columns where one class
//                      is wanted; sets whose labels differ in their columns; num_classes that are
//                      not as many as labels
//   FailedPrecondition a set has no labels
[[nodiscard]] StatusOr<NodeTaskKind> KindOf(const Task& task, std::optional<NodeTaskKind> asked);

// What labels may be, and what they become:
//   kClassification  int64: 0 to classes - 1, or kUnlabelled
//   kMultiLabel      int8, `columns` a row: 0, 1 or kUnlabelled
//   kRegression      float32, `columns` a row: finite, or NaN where there is none
struct LabelRule {
  NodeTaskKind kind = NodeTaskKind::kClassification;
  int64_t classes = 0;
  int64_t columns = 1;  // of the labels
};

// Converts labels of any dtype. `name_of`: how the user knows the node of a row ("node with
// original id 7"). OutOfRange naming the first label that is none, its node and what is expected.
[[nodiscard]] StatusOr<LabelRows> ConvertLabels(
    const TaskArray& array, const LabelRule& rule,
    const std::function<std::string(int64_t row)>& name_of);

}  // namespace halograph
