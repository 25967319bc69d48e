// What the labels of nodes mean, and how they are checked and converted once as they are read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "client/task_sets.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/graph/task_kind.h"
#include "trainer/options/task_choices.h"
#include "trainer/seeds/seed_source.h"

namespace halograph {

// The kind of a task: what the user asks for, else what its metadata says, else as its labels look
// (KindOfLabels). Asks for no row: every rank decides alike.
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

// How many rows have a label (HasLabel). `labels` as `kind` has them above.
[[nodiscard]] int64_t CountLabelled(const LabelRows& labels, NodeTaskKind kind);

// Converts labels of any dtype. `name_of`: how the user knows the node of a row ("node with
// original id 7"). OutOfRange naming the first label that is none, its node and what is expected.
[[nodiscard]] StatusOr<LabelRows> ConvertLabels(
    const TaskArray& array, const LabelRule& rule,
    const std::function<std::string(int64_t row)>& name_of);

}  // namespace halograph
