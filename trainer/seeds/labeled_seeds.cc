#include "trainer/seeds/labeled_seeds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <utility>

#include "common/graph/tensor_ref.h"

namespace halograph {
namespace {

constexpr int64_t kMaxClasses = int64_t{1} << 24;

// The id that the user knows a node by, as text; the global id, said to be so, if the store fails.
std::string OriginalId(const Stores& stores, const std::string& type, int64_t id) {
  int64_t original = -1;
  CallContext context;
  const Status status = stores.rows->Pull({.tensor = {false, type, kOriginalIdTensor},
                                           .ids = std::span(&id, 1),
                                           .out = std::as_writable_bytes(std::span(&original, 1))},
                                          context);
  return status.ok() ? fmt::format("original id {}", original) : fmt::format("global id {}", id);
}

// Rows of one node type of a set, in the order stored.
struct RowsOfType {
  std::vector<int64_t> seeds;
  LabelRows labels;
};

StatusOr<RowsOfType> ReadRows(const Stores& stores, const Task& task, const TaskSetSpec& spec,
                              IdRange rows, const LabelRule& rule) {
  const std::string where =
      fmt::format("task '{}', {} set of '{}'", task.name, spec.set, spec.type);
  CallContext context;
  HG_ASSIGN_OR_RETURN(const TaskSet set,
                      stores.tasks->Read({task.name, spec.set, spec.type}, rows, context));
  if (set.arrays.empty() || set.arrays.front().spec.dim != 1) {
    return InvalidArgument("{}: seeds are tuples; a task about nodes has single ones", where);
  }
  HG_ASSIGN_OR_RETURN(const TaskArray* const array, set.Find("labels"));
  const std::span<const int64_t> seeds = set.seeds();
  const auto name_of = [&](int64_t row) {
    return fmt::format("{} with {}", spec.type,
                       row < std::ssize(seeds)
                           ? OriginalId(stores, spec.type, seeds[static_cast<size_t>(row)])
                           : "no id");
  };
  auto labels = ConvertLabels(*array, rule, name_of);
  if (!labels.ok()) {
    return Annotate(labels.status(), fmt::format("task '{}', {} set", task.name, spec.set));
  }
  if (labels->rows() != std::ssize(seeds)) {
    return DataLoss("{}: {} seeds but {} labels", where, seeds.size(), labels->rows());
  }
  return RowsOfType{.seeds = {seeds.begin(), seeds.end()}, .labels = *std::move(labels)};
}

// One node type of a set.
struct TypeOfSet {
  const TaskSetSpec* spec = nullptr;
  int type = 0;
  std::span<const int64_t> part_rows = {};
};

StatusOr<std::span<const int64_t>> PartRows(const GraphInfo& info, const Task& task,
                                            const TaskSetSpec& spec) {
  HG_ASSIGN_OR_RETURN(const TaskSetIndex index,
                      FindTaskSet(info.schema, task.name, spec.set, spec.type));
  return info.task_rows[index.task][index.set];
}

// By node type.
StatusOr<std::vector<TypeOfSet>> TypesOfSet(const GraphInfo& info, const Task& task,
                                            std::string_view set) {
  std::vector<TypeOfSet> types;
  for (const TaskSetSpec& spec : task.sets) {
    if (spec.set != set) continue;
    TypeOfSet of{.spec = &spec};
    HG_ASSIGN_OR_RETURN(of.type, info.schema.NodeTypeIndex(spec.type));
    HG_ASSIGN_OR_RETURN(of.part_rows, PartRows(info, task, spec));
    types.push_back(of);
  }
  std::sort(types.begin(), types.end(),
            [](const TypeOfSet& a, const TypeOfSet& b) { return a.type < b.type; });
  return types;
}

// NaN where it is none.
double LabelAt(const LabelRows& labels, size_t place) {
  if (labels.dtype == DType::kFloat32) return labels.As<float>()[place];
  const int64_t label = labels.dtype == DType::kInt64 ? labels.As<int64_t>()[place]
                                                      : int64_t{labels.As<int8_t>()[place]};
  return label == kUnlabelled ? std::nan("") : static_cast<double>(label);
}

// Whether a row's labels contradict those that are known, which its own then join. A row of values
// that lacks one has none.
bool Contradicts(const LabelRows& labels, size_t row, std::vector<double>* known) {
  const size_t first = row * known->size();
  bool contradicts = false, lacks = false;
  for (size_t c = 0; c < known->size(); ++c) lacks |= std::isnan(LabelAt(labels, first + c));
  if (lacks && labels.dtype == DType::kFloat32) return false;
  for (size_t c = 0; c < known->size(); ++c) {
    const double label = LabelAt(labels, first + c);
    if (std::isnan(label)) continue;
    contradicts |= !std::isnan((*known)[c]) && (*known)[c] != label;
    (*known)[c] = label;
  }
  return contradicts;
}

// Rows of all types of a set, gathered before they are sorted.
struct GatheredRows {
  std::vector<int64_t> seeds;
  std::vector<int32_t> types, parts;  // of each
  LabelRows labels;

  void Append(const TypeOfSet& of, IdRange range, const RowsOfType& stored) {
    seeds.insert(seeds.end(), stored.seeds.begin(), stored.seeds.end());
    labels.dtype = stored.labels.dtype;
    labels.dim = stored.labels.dim;
    labels.data.insert(labels.data.end(), stored.labels.data.begin(), stored.labels.data.end());
    types.insert(types.end(), stored.seeds.size(), of.type);
    int32_t part = 0;
    for (int64_t row = range.begin; row < range.end; ++row) {
      while (of.part_rows[static_cast<size_t>(part) + 1] <= row) ++part;
      parts.push_back(part);
    }
  }

  // Rows `kept` of the sorted ones.
  [[nodiscard]] LabeledSeeds Sorted(IdRange kept) const {
    std::vector<size_t> order(seeds.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      if (parts[a] != parts[b]) return parts[a] < parts[b];
      if (types[a] != types[b]) return types[a] < types[b];
      return seeds[a] < seeds[b];
    });
    LabeledSeeds set;
    set.contradicted = Contradicted(order, kept);
    const size_t bytes = labels.row_bytes();
    set.labels = {.dtype = labels.dtype, .dim = labels.dim, .data = {}};
    set.labels.data.resize(static_cast<size_t>(kept.size()) * bytes);
    set.seeds.reserve(static_cast<size_t>(kept.size()));
    for (int64_t i = kept.begin; i < kept.end; ++i) {
      const size_t row = order[static_cast<size_t>(i)];
      std::memcpy(set.labels.data.data() + static_cast<size_t>(i - kept.begin) * bytes,
                  labels.data.data() + row * bytes, bytes);
      set.seeds.push_back(seeds[row]);
      set.types.push_back(types[row]);
    }
    return set;
  }

 private:
  // As LabeledSeeds has it. `order`: of all rows.
  [[nodiscard]] int64_t Contradicted(const std::vector<size_t>& order, IdRange kept) const {
    int64_t count = 0;
    std::vector<double> known;
    for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      const size_t first = order[begin];
      while (end < order.size() && seeds[order[end]] == seeds[first] &&
             types[order[end]] == types[first] && parts[order[end]] == parts[first]) {
        ++end;
      }
      if (end - begin == 1) continue;
      known.assign(static_cast<size_t>(labels.dim), std::nan(""));
      for (size_t i = begin; i < end; ++i) {
        if (!Contradicts(labels, order[i], &known)) continue;
        const auto place = static_cast<int64_t>(i);
        if (kept.begin <= place && place < kept.end) ++count;
        break;
      }
    }
    return count;
  }
};

StatusOr<LabeledSeeds> ReadSet(const Stores& stores, const Task& task, std::string_view name,
                               const LabelRule& rule, RankOfWorld who) {
  HG_ASSIGN_OR_RETURN(const std::vector<TypeOfSet> types,
                      TypesOfSet(stores.graph->info(), task, name));
  if (types.empty()) return LabeledSeeds{};
  std::vector<int64_t> part_rows(types.front().part_rows.size());
  for (const TypeOfSet& of : types) {
    for (size_t part = 0; part < part_rows.size(); ++part) part_rows[part] += of.part_rows[part];
  }
  const IdRange shard = SplitRows(part_rows, who.world_size).of_rank[who.rank];
  // A part's rows must all be here to be sorted.
  const IdRange whole = WholeParts(part_rows, shard);
  const auto part_of = [&](int64_t boundary) {
    return std::lower_bound(part_rows.begin(), part_rows.end(), boundary) - part_rows.begin();
  };
  GatheredRows gathered;
  for (const TypeOfSet& of : types) {
    const IdRange rows{of.part_rows[part_of(whole.begin)], of.part_rows[part_of(whole.end)]};
    HG_ASSIGN_OR_RETURN(const RowsOfType stored, ReadRows(stores, task, *of.spec, rows, rule));
    gathered.Append(of, rows, stored);
  }
  LabeledSeeds set = gathered.Sorted({shard.begin - whole.begin, shard.end - whole.begin});
  set.part_rows = std::move(part_rows);
  set.first_row = shard.begin;
  return set;
}

// Hands over the labels of the whole set, a part at a time.
Status ForLabels(const Stores& stores, const Task& task, std::string_view set,
                 const LabelRule& rule, const std::function<void(const LabelRows&)>& use) {
  HG_ASSIGN_OR_RETURN(const std::vector<TypeOfSet> types,
                      TypesOfSet(stores.graph->info(), task, set));
  for (const TypeOfSet& of : types) {
    for (size_t part = 0; part + 1 < of.part_rows.size(); ++part) {
      const IdRange rows{of.part_rows[part], of.part_rows[part + 1]};
      HG_ASSIGN_OR_RETURN(const RowsOfType read, ReadRows(stores, task, *of.spec, rows, rule));
      use(read.labels);
    }
  }
  return OkStatus();
}

// The node types that the sets are of, ascending.
StatusOr<std::vector<int>> SeedTypes(const Schema& schema, const Task& task) {
  if (task.sets.empty()) return FailedPrecondition("task '{}' has no sets", task.name);
  std::vector<int> types;
  for (const TaskSetSpec& spec : task.sets) {
    if (spec.edges) {
      return InvalidArgument("task '{}' is about edges ('{}'), not about nodes", task.name,
                             spec.type);
    }
    HG_ASSIGN_OR_RETURN(const int type, schema.NodeTypeIndex(spec.type));
    types.push_back(type);
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

// What labels say of their classes where the task does not.
struct FoundClasses {
  int64_t classes = 0;  // one more than the largest
  int64_t occurring = 0;
  int64_t rows = 0;  // that have a label
};

StatusOr<FoundClasses> ClassesOfLabels(const Stores& stores, const Task& task) {
  const LabelRule rule{.kind = NodeTaskKind::kClassification, .classes = kMaxClasses};
  FoundClasses found;
  std::vector<bool> occurs(1);
  for (const char* const set : {"train", "valid", "test"}) {
    HG_RETURN_IF_ERROR(ForLabels(stores, task, set, rule, [&](const LabelRows& labels) {
      for (const int64_t label : labels.As<int64_t>()) {
        if (label == kUnlabelled) continue;
        ++found.rows;
        const auto bit = static_cast<size_t>(label);
        if (bit >= occurs.size()) occurs.resize(bit + 1);
        occurs[bit] = true;
      }
    }));
  }
  found.classes = std::ssize(occurs);
  found.occurring = std::count(occurs.begin(), occurs.end(), true);
  return found;
}

// `said`: whether the user or the task said that labels are classes. If not, labels that look like
// values are refused: of the year 2019, the last layer would have 2,020 columns.
StatusOr<int64_t> NumClasses(const Stores& stores, const Task& task, bool said) {
  if (task.metadata.contains("num_classes")) {
    HG_ASSIGN_OR_RETURN(const int64_t classes,
                        GetInt(task.metadata, "num_classes", "task '" + task.name + "'"));
    if (classes < 1 || classes > kMaxClasses) {
      return InvalidArgument("task '{}': num_classes is {}, expected 1 to {}", task.name, classes,
                             kMaxClasses);
    }
    return classes;
  }
  HG_ASSIGN_OR_RETURN(const FoundClasses found, ClassesOfLabels(stores, task));
  if (said || found.classes <= std::max<int64_t>(found.rows, 1)) return found.classes;
  return InvalidArgument(
      "task '{}': its largest label is {}, which makes {} classes, more than the {} rows that have "
      "a label ({} classes occur): if labels are values, say --task-kind regression; if they are "
      "classes, say --task-kind classification, or give num_classes in the task's metadata",
      task.name, found.classes - 1, found.classes, found.rows, found.occurring);
}

}  // namespace

StatusOr<int> ChooseTask(const Schema& schema, const std::string& name) {
  std::string known;
  for (size_t i = 0; i < schema.tasks.size(); ++i) {
    if (!name.empty() && schema.tasks[i].name == name) return static_cast<int>(i);
    known += (i == 0 ? "'" : ", '") + schema.tasks[i].name + "'";
  }
  if (schema.tasks.empty()) {
    return NotFound("the graph has no task to train for; partition data that has one");
  }
  if (!name.empty()) return NotFound("no task '{}'; the graph has {}", name, known);
  if (schema.tasks.size() > 1) {
    return InvalidArgument("the graph has several tasks ({}): choose with --task", known);
  }
  return 0;
}

bool HasRows(const Task& task, std::string_view set) {
  return std::any_of(task.sets.begin(), task.sets.end(),
                     [&](const TaskSetSpec& spec) { return spec.set == set && spec.rows > 0; });
}

Status CheckNodeTask(const Schema& schema, const Task& task) {
  return SeedTypes(schema, task).status();
}

StatusOr<NodeTaskRows> ReadNodeTask(const Stores& stores, const std::string& name,
                                    std::optional<NodeTaskKind> asked, RankOfWorld who) {
  const Schema& schema = stores.graph->info().schema;
  HG_ASSIGN_OR_RETURN(const int index, ChooseTask(schema, name));
  const Task& task = schema.tasks[index];
  NodeTaskRows read;
  read.name = task.name;
  HG_ASSIGN_OR_RETURN(read.node_types, SeedTypes(schema, task));
  HG_ASSIGN_OR_RETURN(read.rule.kind, KindOf(task, asked));
  if (read.rule.kind == NodeTaskKind::kClassification) {
    HG_ASSIGN_OR_RETURN(
        read.rule.classes,
        NumClasses(stores, task, asked.has_value() || task.metadata.contains(kTaskKindKey)));
  } else {
    HG_ASSIGN_OR_RETURN(const TensorSpec* const labels,
                        FindTensor(task.sets.front().arrays, "labels", task.name));
    read.rule.columns = labels->dim;
  }
  for (auto [set, rows] : {std::pair{"train", &read.train}, std::pair{"valid", &read.valid},
                           std::pair{"test", &read.test}}) {
    HG_ASSIGN_OR_RETURN(*rows, ReadSet(stores, task, set, read.rule, who));
    if (read.node_types.size() == 1) rows->types = {};
  }
  if (!HasRows(task, "train")) {
    return FailedPrecondition("task '{}' has no train seeds", task.name);
  }
  return read;
}

StatusOr<LabeledSeeds> ReadWholeTrainSet(const Stores& stores, const std::string& name,
                                         const LabelRule& rule) {
  const Schema& schema = stores.graph->info().schema;
  HG_ASSIGN_OR_RETURN(const int index, ChooseTask(schema, name));
  return ReadSet(stores, schema.tasks[index], "train", rule, {});
}

StatusOr<std::vector<int64_t>> CountLabels(const Stores& stores, const NodeTaskRows& task,
                                           std::string_view set) {
  HG_ASSIGN_OR_RETURN(const int index, ChooseTask(stores.graph->info().schema, task.name));
  const bool classes = task.rule.kind == NodeTaskKind::kClassification;
  const auto columns = static_cast<size_t>(task.rule.columns);
  std::vector<int64_t> counts(classes ? static_cast<size_t>(task.rule.classes) : 2 * columns);
  HG_RETURN_IF_ERROR(ForLabels(stores, stores.graph->info().schema.tasks[index], set, task.rule,
                               [&](const LabelRows& labels) {
                                 if (classes) {
                                   for (const int64_t label : labels.As<int64_t>()) {
                                     if (label != kUnlabelled) ++counts[static_cast<size_t>(label)];
                                   }
                                   return;
                                 }
                                 const std::span<const int8_t> values = labels.As<int8_t>();
                                 for (size_t i = 0; i < values.size(); ++i) {
                                   if (values[i] == kUnlabelled) continue;
                                   ++counts[i % columns + (values[i] == 1 ? columns : 0)];
                                 }
                               }));
  return counts;
}

}  // namespace halograph
