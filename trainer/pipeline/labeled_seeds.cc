#include "trainer/pipeline/labeled_seeds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "common/graph/tensor_ref.h"

namespace halograph {
namespace {

constexpr int64_t kMaxClasses = int64_t{1} << 24;

template <typename T>
std::vector<int64_t> Widen(std::span<const std::byte> bytes) {
  const auto* values = reinterpret_cast<const T*>(bytes.data());
  return {values, values + bytes.size() / sizeof(T)};
}

// The id that the user knows a node by, as text; the global id, said to be so, if the store fails.
std::string OriginalId(KVStore& kv, const std::string& type, int64_t id) {
  int64_t original = -1;
  CallContext context;
  const Status status = kv.Pull({.tensor = {false, type, kOriginalIdTensor},
                                 .ids = std::span(&id, 1),
                                 .out = std::as_writable_bytes(std::span(&original, 1))},
                                context);
  return status.ok() ? fmt::format("original id {}", original) : fmt::format("global id {}", id);
}

// Classes that are given as floats: whole numbers, and NaN where there is none.
StatusOr<std::vector<int64_t>> FromFloats(KVStore& kv, const std::string& type, const TaskSet& set,
                                          const TaskArray& array, const std::string& where) {
  std::vector<double> values(array.data.size() / DTypeSize(array.spec.dtype));
  ConvertToDouble(array.spec.dtype, array.data.data(), values.size(), values.data());
  std::vector<int64_t> labels(values.size(), kUnlabelled);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    if (values[i] != std::trunc(values[i]) || std::abs(values[i]) > kMaxClasses) {
      return InvalidArgument(
          "{}: the label of {} with {} is {} ({}), expected a class: a whole number from 0 on, or "
          "-1 or NaN for unlabelled",
          where, type, i < set.seeds().size() ? OriginalId(kv, type, set.seeds()[i]) : "no id",
          values[i], DTypeName(array.spec.dtype));
    }
    labels[i] = static_cast<int64_t>(values[i]);
  }
  return labels;
}

StatusOr<std::vector<int64_t>> AsLabels(KVStore& kv, const std::string& type, const TaskSet& set,
                                        const TaskArray& array, const std::string& where) {
  if (array.spec.dim != 1) {
    return InvalidArgument("{}: labels have {} columns, expected one class a seed", where,
                           array.spec.dim);
  }
  switch (array.spec.dtype) {
    case DType::kInt64:
      return Widen<int64_t>(array.data);
    case DType::kInt32:
      return Widen<int32_t>(array.data);
    case DType::kInt16:
      return Widen<int16_t>(array.data);
    case DType::kInt8:
      return Widen<int8_t>(array.data);
    case DType::kUInt64:
      return Widen<uint64_t>(array.data);
    case DType::kUInt32:
      return Widen<uint32_t>(array.data);
    case DType::kUInt16:
      return Widen<uint16_t>(array.data);
    case DType::kUInt8:
    case DType::kBool:
      return Widen<uint8_t>(array.data);
    default:
      return FromFloats(kv, type, set, array, where);
  }
}

LabeledSeeds SortedBySeed(std::span<const int64_t> seeds, const std::vector<int64_t>& labels) {
  std::vector<int64_t> order(seeds.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return seeds[a] < seeds[b]; });
  LabeledSeeds sorted;
  sorted.seeds.reserve(order.size());
  sorted.labels.reserve(order.size());
  for (int64_t row : order) {
    sorted.seeds.push_back(seeds[row]);
    sorted.labels.push_back(labels[row]);
  }
  return sorted;
}

// Some rows of a set, in the order stored.
struct RowsOfSet {
  TaskSet set;
  std::vector<int64_t> labels;
};

StatusOr<RowsOfSet> ReadRows(KVStore& kv, const Task& task, const TaskSetSpec& spec, IdRange rows) {
  const std::string where =
      fmt::format("task '{}', {} set of '{}'", task.name, spec.set, spec.type);
  if (spec.edges) {
    return InvalidArgument("{}: seeds are edges; this version trains node classification only",
                           where);
  }
  CallContext context;
  RowsOfSet read;
  HG_ASSIGN_OR_RETURN(read.set, kv.ReadTaskSet({task.name, spec.set, spec.type}, rows, context));
  if (read.set.arrays.empty() || read.set.arrays.front().spec.dim != 1) {
    return InvalidArgument("{}: seeds are tuples; this version trains on single nodes only", where);
  }
  auto array = read.set.Find("labels");
  if (!array.ok()) {
    return FailedPrecondition("{}: has no labels, which classification needs", where);
  }
  HG_ASSIGN_OR_RETURN(read.labels, AsLabels(kv, spec.type, read.set, **array, where));
  if (read.labels.size() != read.set.seeds().size()) {
    return DataLoss("{}: {} seeds but {} labels", where, read.set.seeds().size(),
                    read.labels.size());
  }
  return read;
}

StatusOr<std::span<const int64_t>> PartRows(const GraphInfo& info, const Task& task,
                                            const TaskSetSpec& spec) {
  HG_ASSIGN_OR_RETURN(const TaskSetIndex index,
                      FindTaskSet(info.schema, task.name, spec.set, spec.type));
  return info.task_rows[index.task][index.set];
}

StatusOr<LabeledSeeds> ReadSet(KVStore& kv, const Task& task, const TaskSetSpec& spec,
                               RankOfWorld who) {
  HG_ASSIGN_OR_RETURN(const std::span<const int64_t> part_rows, PartRows(kv.info(), task, spec));
  const IdRange shard = SplitRows(part_rows, who.world_size).of_rank[who.rank];
  // A part's rows must all be here to be sorted; those of several parts are sorted as they stand.
  const IdRange whole = WholeParts(part_rows, shard);
  HG_ASSIGN_OR_RETURN(const RowsOfSet read, ReadRows(kv, task, spec, whole));
  LabeledSeeds set = SortedBySeed(read.set.seeds(), read.labels);
  for (std::vector<int64_t>* column : {&set.seeds, &set.labels}) {
    column->erase(column->begin(), column->begin() + (shard.begin - whole.begin));
    column->resize(static_cast<size_t>(shard.size()));
    column->shrink_to_fit();
  }
  set.part_rows.assign(part_rows.begin(), part_rows.end());
  set.first_row = shard.begin;
  return set;
}

// Over all ranks: a part's rows at a time.
StatusOr<int64_t> LargestLabel(KVStore& kv, const Task& task) {
  int64_t largest = 0;
  for (const TaskSetSpec& spec : task.sets) {
    HG_ASSIGN_OR_RETURN(const std::span<const int64_t> part_rows, PartRows(kv.info(), task, spec));
    for (size_t part = 0; part + 1 < part_rows.size(); ++part) {
      HG_ASSIGN_OR_RETURN(const RowsOfSet read,
                          ReadRows(kv, task, spec, {part_rows[part], part_rows[part + 1]}));
      for (const int64_t label : read.labels) largest = std::max(largest, label);
    }
  }
  return largest;
}

// The node type that all sets are of.
StatusOr<int> SeedType(const Schema& schema, const Task& task) {
  for (const TaskSetSpec& spec : task.sets) {
    if (spec.type != task.sets.front().type) {
      return InvalidArgument(
          "task '{}' has seeds of '{}' and of '{}'; this version trains on one node type only",
          task.name, task.sets.front().type, spec.type);
    }
  }
  if (task.sets.empty()) return FailedPrecondition("task '{}' has no sets", task.name);
  if (task.sets.front().edges) {
    return InvalidArgument(
        "task '{}' is about edges ('{}'); this version trains node "
        "classification only",
        task.name, task.sets.front().type);
  }
  return schema.NodeTypeIndex(task.sets.front().type);
}

StatusOr<int64_t> NumClasses(KVStore& kv, const Task& task) {
  if (task.metadata.contains("num_classes")) {
    HG_ASSIGN_OR_RETURN(const int64_t classes,
                        GetInt(task.metadata, "num_classes", "task '" + task.name + "'"));
    if (classes < 1 || classes > kMaxClasses) {
      return InvalidArgument("task '{}': num_classes is {}, expected 1 to {}", task.name, classes,
                             kMaxClasses);
    }
    return classes;
  }
  HG_ASSIGN_OR_RETURN(const int64_t largest, LargestLabel(kv, task));
  if (largest >= kMaxClasses) {
    return InvalidArgument("task '{}': the largest label is {}, expected classes below {}",
                           task.name, largest, kMaxClasses);
  }
  return largest + 1;
}

Status CheckLabels(KVStore& kv, const ClassificationTask& task, const LabeledSeeds& set,
                   std::string_view set_name) {
  for (size_t i = 0; i < set.labels.size(); ++i) {
    if (set.labels[i] == kUnlabelled) continue;
    if (set.labels[i] >= 0 && set.labels[i] < task.num_classes) continue;
    const std::string& type = kv.info().schema.node_types[task.node_type].name;
    return OutOfRange(
        "task '{}', {} set: the label of {} with {} is {}, expected 0 to {}, or {} where there is "
        "none",
        task.name, set_name, type, OriginalId(kv, type, set.seeds[i]), set.labels[i],
        task.num_classes - 1, kUnlabelled);
  }
  return OkStatus();
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

Status CheckClassification(const Schema& schema, const Task& task) {
  return SeedType(schema, task).status();
}

StatusOr<ClassificationTask> ReadClassificationTask(KVStore& kv, const std::string& name,
                                                    RankOfWorld who) {
  const Schema& schema = kv.info().schema;
  HG_ASSIGN_OR_RETURN(const int index, ChooseTask(schema, name));
  const Task& task = schema.tasks[index];
  ClassificationTask read;
  read.name = task.name;
  HG_ASSIGN_OR_RETURN(read.node_type, SeedType(schema, task));
  for (const TaskSetSpec& spec : task.sets) {
    HG_ASSIGN_OR_RETURN(LabeledSeeds set, ReadSet(kv, task, spec, who));
    (spec.set == "train"   ? read.train
     : spec.set == "valid" ? read.valid
                           : read.test) = std::move(set);
  }
  if (read.train.part_rows.empty() || read.train.part_rows.back() == 0) {
    return FailedPrecondition("task '{}' has no train seeds", task.name);
  }
  HG_ASSIGN_OR_RETURN(read.num_classes, NumClasses(kv, task));
  HG_RETURN_IF_ERROR(CheckLabels(kv, read, read.train, "train"));
  HG_RETURN_IF_ERROR(CheckLabels(kv, read, read.valid, "valid"));
  HG_RETURN_IF_ERROR(CheckLabels(kv, read, read.test, "test"));
  return read;
}

}  // namespace halograph
