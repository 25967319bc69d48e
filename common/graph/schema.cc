#include "common/graph/schema.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "common/base/list_some.h"

namespace halograph {
namespace {

constexpr size_t kNamesShown = 10;

// For an error message.
template <typename Items, typename NameOf>
std::string ListNames(const Items& items, NameOf name_of) {
  if (items.empty()) return "none";
  return ListSome(items, kNamesShown,
                  [&](const auto& item) { return fmt::format("'{}'", name_of(item)); });
}

// Index in `items`, which ascend by name, or NotFound.
template <typename Items, typename NameOf>
StatusOr<int> IndexByName(const Items& items, std::string_view name, std::string_view what,
                          NameOf name_of) {
  const auto found = std::lower_bound(
      items.begin(), items.end(), name,
      [&](const auto& item, std::string_view wanted) { return name_of(item) < wanted; });
  if (found != items.end() && name_of(*found) == name) {
    return static_cast<int>(found - items.begin());
  }
  return NotFound("no {} '{}' in this graph; it has {}", what, name, ListNames(items, name_of));
}

template <typename Items, typename NameOf>
Status CheckAscending(const Items& items, std::string_view what, NameOf name_of) {
  for (size_t i = 1; i < items.size(); ++i) {
    const std::string& before = name_of(items[i - 1]);
    const std::string& here = name_of(items[i]);
    if (before == here) return InvalidArgument("{} '{}' is given twice", what, here);
    if (before > here) {
      return InvalidArgument("{} '{}' stands before '{}': byte order of the names is required",
                             what, before, here);
    }
  }
  return OkStatus();
}

Status CheckTensor(const TensorSpec& tensor, int64_t rows, std::string_view owner) {
  if (tensor.name.empty()) return InvalidArgument("{}: an array without a name", owner);
  if (tensor.name[0] == '@') {
    return InvalidArgument("{}: the name '{}' is reserved: names must not start with '@'", owner,
                           tensor.name);
  }
  if (tensor.rank != 1 && tensor.rank != 2) {
    return InvalidArgument("{} / {}: rank {}, expected 1 or 2", owner, tensor.name, tensor.rank);
  }
  if (tensor.dim < 1 || (tensor.rank == 1 && tensor.dim != 1)) {
    return InvalidArgument("{} / {}: {} elements a row at rank {}", owner, tensor.name, tensor.dim,
                           tensor.rank);
  }
  const auto element = static_cast<int64_t>(DTypeSize(tensor.dtype));
  const int64_t limit = std::numeric_limits<int64_t>::max() / std::max<int64_t>(rows, 1);
  const auto scale = static_cast<int64_t>(RowBytes(tensor.dtype, 0));
  if (tensor.dim > (limit - scale) / element) {
    return InvalidArgument("{} / {}: {} rows of {} elements are more than 2^63 bytes", owner,
                           tensor.name, rows, tensor.dim);
  }
  if (tensor.sampling && HasRowScale(tensor.dtype)) {
    return InvalidArgument("{} / {}: weights of sampling cannot be {}", owner, tensor.name,
                           DTypeName(tensor.dtype));
  }
  return OkStatus();
}

Status CheckFeatures(const std::vector<TensorSpec>& features, int64_t count,
                     const std::string& owner) {
  if (count < 0) return InvalidArgument("{}: negative count {}", owner, count);
  for (const TensorSpec& tensor : features) {
    HG_RETURN_IF_ERROR(CheckTensor(tensor, count, owner));
  }
  return CheckAscending(features, owner + ": feature",
                        [](const TensorSpec& t) -> const std::string& { return t.name; });
}

Status CheckTaskSet(const Schema& schema, const std::string& task, const TaskSetSpec& set) {
  const std::string where = fmt::format("task '{}' set '{}' of '{}'", task, set.set, set.type);
  if (set.set != "train" && set.set != "valid" && set.set != "test") {
    return InvalidArgument("{}: the set must be train, valid or test", where);
  }
  const auto type = set.edges ? schema.RelationIndex(set.type) : schema.NodeTypeIndex(set.type);
  if (!type.ok()) return InvalidArgument("{}: {}", where, Message(type.status()));
  if (set.rows < 0) return InvalidArgument("{}: negative count {}", where, set.rows);
  if (set.arrays.empty() || set.arrays[0].name != "seeds" || set.arrays[0].dtype != DType::kInt64) {
    return InvalidArgument("{}: its first array must be 'seeds' of int64", where);
  }
  for (size_t i = 0; i < set.arrays.size(); ++i) {
    HG_RETURN_IF_ERROR(CheckTensor(set.arrays[i], set.rows, where));
    if (HasRowScale(set.arrays[i].dtype)) {
      return InvalidArgument("{}: array '{}' cannot be {}, which is for features only", where,
                             set.arrays[i].name, DTypeName(set.arrays[i].dtype));
    }
    if (i >= 1 && set.arrays[i].name == "seeds") {
      return InvalidArgument("{}: array 'seeds' is given twice", where);
    }
    if (i >= 2 && set.arrays[i - 1].name >= set.arrays[i].name) {
      return InvalidArgument("{}: array '{}' stands before '{}'", where, set.arrays[i - 1].name,
                             set.arrays[i].name);
    }
  }
  return OkStatus();
}

Status CheckTask(const Schema& schema, const Task& task) {
  if (task.name.empty()) return InvalidArgument("a task without a name");
  if (!task.metadata.is_object()) {
    return InvalidArgument("task '{}': its metadata is no object", task.name);
  }
  for (size_t i = 0; i < task.sets.size(); ++i) {
    HG_RETURN_IF_ERROR(CheckTaskSet(schema, task.name, task.sets[i]));
    for (size_t j = 0; j < i; ++j) {
      if (task.sets[i].set == task.sets[j].set && task.sets[i].type == task.sets[j].type) {
        return InvalidArgument("task '{}': set '{}' of '{}' is given twice", task.name,
                               task.sets[i].set, task.sets[i].type);
      }
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<int> Schema::NodeTypeIndex(std::string_view name) const {
  return IndexByName(node_types, name, "node type",
                     [](const NodeType& type) -> const std::string& { return type.name; });
}

StatusOr<int> Schema::RelationIndex(std::string_view triple) const {
  return IndexByName(relations, triple, "relation",
                     [](const Relation& relation) { return relation.triple(); });
}

int Schema::SourceType(int relation) const { return *NodeTypeIndex(relations[relation].source); }

int Schema::DestinationType(int relation) const {
  return *NodeTypeIndex(relations[relation].destination);
}

Status Schema::Validate() const {
  const auto type_name = [](const NodeType& type) -> const std::string& { return type.name; };
  HG_RETURN_IF_ERROR(CheckAscending(node_types, "node type", type_name));
  HG_RETURN_IF_ERROR(CheckAscending(relations, "relation",
                                    [](const Relation& relation) { return relation.triple(); }));
  for (const NodeType& type : node_types) {
    if (type.name.empty()) return InvalidArgument("a node type without a name");
    HG_RETURN_IF_ERROR(CheckFeatures(type.features, type.count, "node type '" + type.name + "'"));
  }
  for (const Relation& relation : relations) {
    const std::string owner = "relation '" + relation.triple() + "'";
    for (const std::string& end : {relation.source, relation.destination}) {
      const auto type = NodeTypeIndex(end);
      if (!type.ok()) return InvalidArgument("{}: {}", owner, Message(type.status()));
    }
    HG_RETURN_IF_ERROR(CheckFeatures(relation.features, relation.count, owner));
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    HG_RETURN_IF_ERROR(CheckTask(*this, tasks[i]));
    for (size_t j = 0; j < i; ++j) {
      if (tasks[i].name == tasks[j].name) {
        return InvalidArgument("task '{}' is given twice", tasks[i].name);
      }
    }
  }
  return OkStatus();
}

StatusOr<const TensorSpec*> FindTensor(const std::vector<TensorSpec>& tensors,
                                       std::string_view name, std::string_view owner) {
  for (const TensorSpec& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return NotFound("no array '{}' of {}; it has {}", name, owner,
                  ListNames(tensors, [](const TensorSpec& t) { return t.name; }));
}

StatusOr<TaskSetIndex> FindTaskSet(const Schema& schema, std::string_view task,
                                   std::string_view set, std::string_view type) {
  std::vector<std::string> names;
  for (size_t t = 0; t < schema.tasks.size(); ++t) {
    for (size_t s = 0; s < schema.tasks[t].sets.size(); ++s) {
      const TaskSetSpec& spec = schema.tasks[t].sets[s];
      if (schema.tasks[t].name == task && spec.set == set && spec.type == type) {
        return TaskSetIndex{static_cast<int>(t), static_cast<int>(s)};
      }
      names.push_back(fmt::format("{} / {} / {}", schema.tasks[t].name, spec.set, spec.type));
    }
  }
  return NotFound("no task set '{} / {} / {}' in this graph; it has {}", task, set, type,
                  ListNames(names, [](const std::string& name) { return name; }));
}

}  // namespace halograph
