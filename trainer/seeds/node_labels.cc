#include "trainer/seeds/node_labels.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace halograph {
namespace {

constexpr int64_t kBlock = 1 << 14;  // labels that are converted at a time

StatusOr<NodeTaskKind> ParseKind(const Json& word, const std::string& task) {
  const auto kind = word.is_string() ? ParseNodeTaskKind(word.get<std::string>()) : std::nullopt;
  if (kind.has_value()) return *kind;
  return InvalidArgument(
      "task '{}': {} is {} in its metadata, expected classification, multi-label or regression; "
      "--task-kind says it otherwise",
      task, kTaskKindKey, word.dump());
}

// Of the labels of all sets, which must have as many columns each.
StatusOr<TensorSpec> LabelsOfSets(const Task& task) {
  const TensorSpec* first = nullptr;
  for (const TaskSetSpec& set : task.sets) {
    const auto found = std::find_if(set.arrays.begin(), set.arrays.end(),
                                    [](const TensorSpec& a) { return a.name == "labels"; });
    if (found == set.arrays.end()) {
      return FailedPrecondition(
          "task '{}', {} set of '{}': has no labels, which a task about nodes needs", task.name,
          set.set, set.type);
    }
    if (first == nullptr) first = &*found;
    if (found->dim != first->dim) {
      return InvalidArgument(
          "task '{}', {} set of '{}': labels have {} columns, those of the {} set {}; all sets of "
          "a task must have as many",
          task.name, set.set, set.type, found->dim, task.sets.front().set, first->dim);
    }
  }
  if (first == nullptr) return FailedPrecondition("task '{}' has no sets", task.name);
  return *first;
}

Status CheckColumns(const Task& task, NodeTaskKind kind, const TensorSpec& labels) {
  const auto classes = task.metadata.find("num_classes");
  const bool says = classes != task.metadata.end();
  if (kind == NodeTaskKind::kClassification && labels.dim != 1) {
    return InvalidArgument(
        "task '{}': classification takes one class a seed, and its labels have {} columns ({}): it "
        "is multi-label or regression (--task-kind)",
        task.name, labels.dim, DTypeName(labels.dtype));
  }
  // Of labels that are 0 or 1, some say 2 classes.
  if (kind == NodeTaskKind::kMultiLabel && says && *classes != labels.dim && *classes != 2) {
    return InvalidArgument(
        "task '{}': labels have {} columns, and its num_classes is {}; a multi-label task has a "
        "column a class",
        task.name, labels.dim, classes->dump());
  }
  return OkStatus();
}

// Position of the first label that `convert` makes nothing of; -1: there is none.
template <typename T, typename Convert>
int64_t Fill(const TaskArray& array, int64_t count, std::vector<std::byte>* to,
             const Convert& convert) {
  to->resize(static_cast<size_t>(count) * sizeof(T));
  auto* const values = reinterpret_cast<T*>(to->data());
  const size_t size = DTypeSize(array.spec.dtype);
  std::vector<double> block(static_cast<size_t>(std::min(count, kBlock)));
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t here = std::min(kBlock, count - first);
    ConvertToDouble(array.spec.dtype, array.data.data() + static_cast<size_t>(first) * size,
                    static_cast<size_t>(here), block.data());
    for (int64_t i = 0; i < here; ++i) {
      const std::optional<T> value = convert(block[static_cast<size_t>(i)]);
      if (!value.has_value()) return first + i;
      values[first + i] = *value;
    }
  }
  return -1;
}

int64_t FillAs(const LabelRule& rule, const TaskArray& array, int64_t count, LabelRows* to) {
  const auto whole = [](double label, double limit) -> std::optional<int64_t> {
    if (std::isnan(label)) return kUnlabelled;
    if (label != std::trunc(label) || label < kUnlabelled || label >= limit) return std::nullopt;
    return static_cast<int64_t>(label);
  };
  switch (rule.kind) {
    case NodeTaskKind::kClassification:
      to->dtype = DType::kInt64;
      return Fill<int64_t>(array, count, &to->data, [&](double label) {
        return whole(label, static_cast<double>(rule.classes));
      });
    case NodeTaskKind::kMultiLabel:
      to->dtype = DType::kInt8;
      return Fill<int8_t>(array, count, &to->data,
                          [&](double label) -> std::optional<int8_t> { return whole(label, 2); });
    case NodeTaskKind::kRegression:
      break;
  }
  to->dtype = DType::kFloat32;
  return Fill<float>(array, count, &to->data, [](double label) -> std::optional<float> {
    const auto value = static_cast<float>(label);
    if (std::isinf(value)) return std::nullopt;
    return value;
  });
}

std::string Expected(const LabelRule& rule) {
  switch (rule.kind) {
    case NodeTaskKind::kClassification:
      return fmt::format("a class: a whole number from 0 to {}, or -1 or NaN where there is none",
                         rule.classes - 1);
    case NodeTaskKind::kMultiLabel:
      return "0 or 1, or -1 or NaN where it is not known";
    case NodeTaskKind::kRegression:
      break;
  }
  return "a finite number that float32 can hold, or NaN where there is none";
}

}  // namespace

StatusOr<NodeTaskKind> KindOf(const Task& task, std::optional<NodeTaskKind> asked) {
  HG_ASSIGN_OR_RETURN(const TensorSpec labels, LabelsOfSets(task));
  NodeTaskKind kind = KindOfLabels(task.metadata, labels.dtype, labels.dim);
  if (asked.has_value()) {
    kind = *asked;
  } else if (const auto said = task.metadata.find(kTaskKindKey); said != task.metadata.end()) {
    HG_ASSIGN_OR_RETURN(kind, ParseKind(*said, task.name));
  }
  HG_RETURN_IF_ERROR(CheckColumns(task, kind, labels));
  return kind;
}

int64_t CountLabelled(const LabelRows& labels, NodeTaskKind kind) {
  const auto known = [](int64_t label) { return label != kUnlabelled; };
  const auto dim = static_cast<size_t>(labels.dim);
  if (kind == NodeTaskKind::kClassification) {
    const std::span<const int64_t> classes = labels.As<int64_t>();
    return std::count_if(classes.begin(), classes.end(), known);
  }
  int64_t labelled = 0;
  for (size_t first = 0; first < static_cast<size_t>(labels.rows()) * dim; first += dim) {
    if (kind == NodeTaskKind::kMultiLabel) {
      const auto row = labels.As<int8_t>().subspan(first, dim);
      labelled += std::any_of(row.begin(), row.end(), known) ? 1 : 0;
    } else {
      const auto row = labels.As<float>().subspan(first, dim);
      labelled += std::none_of(row.begin(), row.end(), [](float v) { return std::isnan(v); });
    }
  }
  return labelled;
}

StatusOr<LabelRows> ConvertLabels(const TaskArray& array, const LabelRule& rule,
                                  const std::function<std::string(int64_t row)>& name_of) {
  LabelRows rows;
  rows.dim = rule.columns;
  const auto count = static_cast<int64_t>(array.data.size() / DTypeSize(array.spec.dtype));
  const int64_t wrong = FillAs(rule, array, count, &rows);
  if (wrong < 0) return rows;
  double label = 0;
  ConvertToDouble(array.spec.dtype,
                  array.data.data() + static_cast<size_t>(wrong) * DTypeSize(array.spec.dtype), 1,
                  &label);
  const std::string which =
      rule.columns == 1 ? "the label" : fmt::format("label {}", wrong % rule.columns);
  const bool fraction = std::isfinite(label) && label != std::trunc(label);
  return OutOfRange("{} of {} is {} ({}), expected {}{}", which, name_of(wrong / rule.columns),
                    label, DTypeName(array.spec.dtype), Expected(rule),
                    fraction && rule.kind != NodeTaskKind::kRegression
                        ? "; values are for --task-kind regression"
                        : "");
}

}  // namespace halograph
