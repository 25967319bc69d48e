#include "partitioner/inspect/task_report.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/base/units.h"

namespace halograph {
namespace {

constexpr std::string_view kSets[] = {"train", "valid", "test"};
constexpr int64_t kMostClasses = int64_t{1} << 24;
constexpr int64_t kBlockRows = 4096;

const InputTensor* FindLabels(const InputTaskSet& set) {
  for (const InputTensor& array : set.arrays) {
    if (array.spec.name == "labels") return &array;
  }
  return nullptr;
}

// What the description of the task says; 0: nothing that can be used.
int64_t NumClasses(const InputTask& task) {
  const auto found = task.metadata.find("num_classes");
  if (found == task.metadata.end() || !found->is_number_integer()) return 0;
  return std::clamp<int64_t>(found->get<int64_t>(), 0, kMostClasses);
}

// As the trainer has it: by the first set that has labels. A word under `task_kind` that is none
// says nothing.
NodeTaskKind KindOf(const InputTask& task) {
  const auto said = task.metadata.find(kTaskKindKey);
  if (said != task.metadata.end() && said->is_string()) {
    const auto kind = ParseNodeTaskKind(said->get<std::string>());
    if (kind.has_value()) return *kind;
  }
  for (const InputTaskSet& set : task.sets) {
    const InputTensor* const labels = FindLabels(set);
    if (labels == nullptr) continue;
    return KindOfLabels(task.metadata, labels->spec.dtype, labels->spec.dim);
  }
  return NodeTaskKind::kClassification;
}

// How a person finds a seed: "node 17", by its original id; the row of the file for a tuple.
std::string SeedName(const Dataset& dataset, const InputTaskSet& set, int64_t row) {
  const InputTensor& seeds = set.arrays.front();
  if (set.edges || seeds.spec.dim != 1) return fmt::format("row {}", row);
  int64_t id = 0;
  std::memcpy(&id, seeds.array->data().data() + static_cast<size_t>(row) * sizeof(id), sizeof(id));
  const auto type = static_cast<size_t>(dataset.NodeTypeIndex(set.type));
  if (const auto& original = dataset.node_types[type].original_ids; original != nullptr) {
    id = original->As<int64_t>().value()[static_cast<size_t>(id)];
  }
  return fmt::format("{} {}", set.type, id);
}

// Adds up the labels of one set.
class LabelCounter {
 public:
  LabelCounter(const Dataset& dataset, const InputTask& task, std::string_view set)
      : dataset_(dataset) {
    facts_.task = task.name;
    facts_.set = set;
    facts_.num_classes = NumClasses(task);
    facts_.kind = KindOf(task);
  }

  void Add(const InputTaskSet& set, const InputTensor& labels) {
    if (facts_.dtype.empty()) facts_.dtype = DTypeName(labels.spec.dtype);
    facts_.columns = std::max(facts_.columns, labels.spec.dim);
    const NpyArray& array = *labels.array;
    const int64_t columns = array.cols();
    std::vector<double> block(static_cast<size_t>(kBlockRows * columns));
    for (int64_t first = 0; first < array.rows(); first += kBlockRows) {
      const int64_t rows = std::min(kBlockRows, array.rows() - first);
      ConvertToDouble(array.dtype(), array.data().data() + first * array.row_bytes(),
                      static_cast<size_t>(rows * columns), block.data());
      for (int64_t row = 0; row < rows; ++row) {
        const std::span values(block.data() + row * columns, static_cast<size_t>(columns));
        if (!AddRow(values)) continue;
        const bool classes = columns == 1 && facts_.kind != NodeTaskKind::kRegression;
        if (classes) AddClass(set, labels, first + row, values.front());
      }
    }
    facts_.rows += array.rows();
  }

  LabelFacts Finish() {
    if (facts_.labelled > 0) {
      facts_.low = low_;
      facts_.high = high_;
    }
    if (facts_.wrong.empty()) facts_.classes = std::count(seen_.begin(), seen_.end(), true);
    return std::move(facts_);
  }

 private:
  void Widen(double value) {
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
  }

  // Whether the row has a label.
  bool AddRow(std::span<const double> values) {
    const auto is_nan = [](double value) { return std::isnan(value); };
    if (!HasLabel(facts_.kind, values)) {
      ++(std::any_of(values.begin(), values.end(), is_nan) ? facts_.nan : facts_.minus_one);
      return false;
    }
    ++facts_.labelled;
    for (const double value : values) {
      if (HasLabel(facts_.kind, {&value, 1})) Widen(value);
    }
    return true;
  }

  void AddClass(const InputTaskSet& set, const InputTensor& labels, int64_t row, double label) {
    const int64_t limit = facts_.num_classes > 0 ? facts_.num_classes : kMostClasses;
    if (label == std::trunc(label) && label >= 0 && label < static_cast<double>(limit)) {
      const auto seen = static_cast<size_t>(label);
      if (seen >= seen_.size()) seen_.resize(seen + 1);
      seen_[seen] = true;
    } else if (facts_.wrong.empty()) {
      facts_.wrong = fmt::format("{}: the label of {} is {}", labels.path,
                                 SeedName(dataset_, set, row), label);
    }
  }

  const Dataset& dataset_;
  LabelFacts facts_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  std::vector<bool> seen_;  // by label
};

// ---- seeds of two sets -------------------------------------------------------------------------

// Sets of single nodes of one type.
std::vector<const InputTaskSet*> NodeSets(const InputTask& task, const std::string& type) {
  std::vector<const InputTaskSet*> sets;
  for (const std::string_view name : kSets) {
    for (const InputTaskSet& set : task.sets) {
      if (set.set == name && set.type == type && !set.edges && set.arrays.front().spec.dim == 1) {
        sets.push_back(&set);
      }
    }
  }
  return sets;
}

std::span<const int64_t> SeedsOf(const InputTaskSet& set) {
  const auto seeds = set.arrays.front().array->As<int64_t>();
  return seeds.ok() ? *seeds : std::span<const int64_t>();
}

void WarnOfSharedSeeds(const InputTask& task, const InputNodeType& type,
                       std::vector<std::string>* warnings) {
  const std::vector<const InputTaskSet*> sets = NodeSets(task, type.name);
  for (size_t a = 0; a + 1 < sets.size(); ++a) {
    std::vector<bool> in_first(static_cast<size_t>(type.count));
    for (const int64_t seed : SeedsOf(*sets[a])) in_first[static_cast<size_t>(seed)] = true;
    for (size_t b = a + 1; b < sets.size(); ++b) {
      const std::span<const int64_t> seeds = SeedsOf(*sets[b]);
      const auto shared = std::count_if(seeds.begin(), seeds.end(), [&](int64_t seed) {
        return in_first[static_cast<size_t>(seed)];
      });
      if (shared == 0) continue;
      warnings->push_back(fmt::format(
          "task '{}': {} of {} seeds of the {} set ({}) are in the {} set too, so what is measured "
          "on it is better than the model: remove them from one of the sets",
          task.name, FormatCount(shared), FormatCount(static_cast<int64_t>(seeds.size())),
          sets[b]->set, sets[b]->arrays.front().path, sets[a]->set));
    }
  }
}

// ---- words -------------------------------------------------------------------------------------

std::string ClassesText(const LabelFacts& facts) {
  if (facts.classes == 0) return fmt::format("values from {} to {}", facts.low, facts.high);
  const std::string of =
      facts.num_classes > 0 ? fmt::format(" of {}", FormatCount(facts.num_classes)) : std::string();
  return fmt::format("{}{} class{}, {} to {}", FormatCount(facts.classes), of,
                     facts.classes == 1 && of.empty() ? "" : "es", facts.low, facts.high);
}

std::string WarningOf(const LabelFacts& facts) {
  const std::string where = fmt::format("task '{}', {} set: ", facts.task, facts.set);
  if (facts.kind == NodeTaskKind::kRegression) {
    if (!std::isfinite(facts.low) || !std::isfinite(facts.high)) {
      return where + fmt::format(
                         "labels are from {} to {}; halograph-train takes finite values (NaN: "
                         "unlabelled): correct them",
                         facts.low, facts.high);
    }
  } else if (facts.columns > 1) {
    if (facts.low < 0 || facts.high > 1) {
      return where + fmt::format(
                         "labels have {} columns, from {} to {}; halograph-train takes several "
                         "labels of 0 or 1 (-1 or NaN: not known), or values, which are floats, so "
                         "this task is for other programs",
                         facts.columns, facts.low, facts.high);
    }
  } else if (!facts.wrong.empty()) {
    return where + facts.wrong +
           "; halograph-train takes classes, which are whole numbers from 0 on (-1 or NaN: "
           "unlabelled), so this task is for other programs";
  }
  if (facts.set == "train" && facts.rows > 0 && facts.labelled == 0) {
    return where + "no seed has a label, so nothing can be learnt: look for the file of its labels";
  }
  return "";
}

}  // namespace

std::vector<LabelFacts> LabelsOf(const Dataset& dataset) {
  std::vector<LabelFacts> all;
  for (const InputTask& task : dataset.tasks) {
    for (const std::string_view name : kSets) {
      LabelCounter counter(dataset, task, name);
      bool any = false;
      for (const InputTaskSet& set : task.sets) {
        const InputTensor* const labels = set.set == name ? FindLabels(set) : nullptr;
        if (labels == nullptr) continue;
        counter.Add(set, *labels);
        any = true;
      }
      if (any) all.push_back(counter.Finish());
    }
  }
  return all;
}

std::string ToText(const LabelFacts& facts) {
  std::string text = fmt::format("{} of {} seeds are labelled", FormatCount(facts.labelled),
                                 FormatCount(facts.rows));
  if (facts.nan + facts.minus_one > 0) {
    text += fmt::format(" (not labelled: {} with NaN, {} with -1)", FormatCount(facts.nan),
                        FormatCount(facts.minus_one));
  }
  if (facts.labelled > 0) text += "; " + ClassesText(facts);
  if (facts.columns > 1) text += fmt::format(" in {} columns", facts.columns);
  return text + fmt::format(" ({})", facts.dtype);
}

Json ToJson(const LabelFacts& facts) {
  return {{"task", facts.task},
          {"set", facts.set},
          {"dtype", facts.dtype},
          {"kind", ToString(facts.kind)},
          {"columns", facts.columns},
          {"rows", facts.rows},
          {"labelled", facts.labelled},
          {"nan", facts.nan},
          {"minus_one", facts.minus_one},
          {"low", facts.low},
          {"high", facts.high},
          {"classes", facts.classes},
          {"num_classes", facts.num_classes}};
}

std::vector<std::string> WarningsOf(const Dataset& dataset, const std::vector<LabelFacts>& labels) {
  std::vector<std::string> warnings;
  std::string warned;  // the task: what is true of one set is mostly true of the others
  for (const LabelFacts& facts : labels) {
    const std::string warning = facts.task == warned ? "" : WarningOf(facts);
    if (warning.empty()) continue;
    warnings.push_back(warning);
    warned = facts.task;
  }
  for (const InputTask& task : dataset.tasks) {
    for (const InputNodeType& type : dataset.node_types) WarnOfSharedSeeds(task, type, &warnings);
  }
  return warnings;
}

Status CheckLabels(const std::vector<LabelFacts>& labels) {
  for (const LabelFacts& facts : labels) {
    if (facts.wrong.empty() || facts.num_classes == 0) continue;
    return OutOfRange(
        "{}, but task '{}' has {} classes, 0 to {} (-1 or NaN: unlabelled): correct the label, or "
        "num_classes in the description of the input; the labels of the {} set are from {} to {}",
        facts.wrong, facts.task, facts.num_classes, facts.num_classes - 1, facts.set, facts.low,
        facts.high);
  }
  return OkStatus();
}

}  // namespace halograph
