// The schema as manifests and identities hold it: common/graph/FORMAT.md.
#include <fmt/format.h>

#include "common/graph/schema.h"
#include "common/graph/weight_table.h"

namespace halograph {
namespace {

Json TensorsToJson(const std::vector<TensorSpec>& tensors) {
  Json list = Json::array();
  for (const TensorSpec& tensor : tensors) {
    list.push_back({{"name", tensor.name},
                    {"dtype", std::string(DTypeName(tensor.dtype))},
                    {"rank", tensor.rank},
                    {"dim", tensor.dim}});
    if (tensor.sampling) list.back()["sampling"] = kWeightTableLayout;
  }
  return list;
}

StatusOr<std::vector<TensorSpec>> TensorsFromJson(const Json& object, std::string_view key,
                                                  std::string_view where) {
  HG_ASSIGN_OR_RETURN(const Json list, GetArray(object, key, where));
  std::vector<TensorSpec> tensors;
  for (const Json& item : list) {
    const std::string here = fmt::format("{}: {}[{}]", where, key, tensors.size());
    TensorSpec tensor;
    HG_ASSIGN_OR_RETURN(tensor.name, GetString(item, "name", here));
    HG_ASSIGN_OR_RETURN(const std::string dtype, GetString(item, "dtype", here));
    const auto parsed = ParseDTypeName(dtype);
    if (!parsed.ok()) return DataLoss("{}: dtype: {}", here, Message(parsed.status()));
    tensor.dtype = *parsed;
    HG_ASSIGN_OR_RETURN(const int64_t rank, GetInt(item, "rank", here));
    if (rank != 1 && rank != 2) return DataLoss("{}: rank {}, expected 1 or 2", here, rank);
    tensor.rank = static_cast<int>(rank);
    HG_ASSIGN_OR_RETURN(tensor.dim, GetInt(item, "dim", here));
    if (const auto sampling = item.find("sampling"); sampling != item.end()) {
      if (*sampling != kWeightTableLayout) {
        return FailedPrecondition(
            "{}: the tables of sampling by '{}' have layout {}, this build knows {}; partition the "
            "graph again, or use the build that wrote it",
            here, tensor.name, sampling->dump(), kWeightTableLayout);
      }
      tensor.sampling = true;
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Json SetToJson(const TaskSetSpec& set) {
  return {{"set", set.set},
          {"type", set.type},
          {"edges", set.edges},
          {"rows", set.rows},
          {"arrays", TensorsToJson(set.arrays)}};
}

StatusOr<TaskSetSpec> SetFromJson(const Json& value, std::string_view where) {
  TaskSetSpec set;
  HG_ASSIGN_OR_RETURN(set.set, GetString(value, "set", where));
  HG_ASSIGN_OR_RETURN(set.type, GetString(value, "type", where));
  const auto edges = value.find("edges");
  if (edges == value.end() || !edges->is_boolean()) {
    return DataLoss("{}: field 'edges' is missing or no boolean", where);
  }
  set.edges = edges->get<bool>();
  HG_ASSIGN_OR_RETURN(set.rows, GetInt(value, "rows", where));
  HG_ASSIGN_OR_RETURN(set.arrays, TensorsFromJson(value, "arrays", where));
  return set;
}

StatusOr<NodeType> NodeTypeFromJson(const Json& value, std::string_view where) {
  NodeType type;
  HG_ASSIGN_OR_RETURN(type.name, GetString(value, "name", where));
  HG_ASSIGN_OR_RETURN(type.count, GetInt(value, "count", where));
  HG_ASSIGN_OR_RETURN(type.features, TensorsFromJson(value, "features", where));
  return type;
}

StatusOr<Relation> RelationFromJson(const Json& value, std::string_view where) {
  Relation relation;
  HG_ASSIGN_OR_RETURN(relation.source, GetString(value, "source", where));
  HG_ASSIGN_OR_RETURN(relation.name, GetString(value, "name", where));
  HG_ASSIGN_OR_RETURN(relation.destination, GetString(value, "destination", where));
  HG_ASSIGN_OR_RETURN(relation.count, GetInt(value, "count", where));
  HG_ASSIGN_OR_RETURN(relation.features, TensorsFromJson(value, "features", where));
  return relation;
}

StatusOr<Task> TaskFromJson(const Json& value, std::string_view where) {
  Task task;
  HG_ASSIGN_OR_RETURN(task.name, GetString(value, "name", where));
  HG_ASSIGN_OR_RETURN(task.metadata, GetObject(value, "metadata", where));
  HG_ASSIGN_OR_RETURN(const Json sets, GetArray(value, "sets", where));
  for (const Json& item : sets) {
    HG_ASSIGN_OR_RETURN(TaskSetSpec set,
                        SetFromJson(item, fmt::format("{}: task '{}': sets[{}]", where, task.name,
                                                      task.sets.size())));
    task.sets.push_back(std::move(set));
  }
  return task;
}

// Every item of array `key`, by `parse`.
template <typename T, typename Parse>
StatusOr<std::vector<T>> ListFromJson(const Json& value, std::string_view key,
                                      std::string_view where, Parse parse) {
  HG_ASSIGN_OR_RETURN(const Json list, GetArray(value, key, where));
  std::vector<T> items;
  for (const Json& entry : list) {
    HG_ASSIGN_OR_RETURN(T item, parse(entry, fmt::format("{}: {}[{}]", where, key, items.size())));
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

Json ToJson(const Schema& schema) {
  Json value = {{"name", schema.graph_name},
                {"node_types", Json::array()},
                {"relations", Json::array()},
                {"tasks", Json::array()}};
  for (const NodeType& type : schema.node_types) {
    value["node_types"].push_back(
        {{"name", type.name}, {"count", type.count}, {"features", TensorsToJson(type.features)}});
  }
  for (const Relation& relation : schema.relations) {
    value["relations"].push_back({{"source", relation.source},
                                  {"name", relation.name},
                                  {"destination", relation.destination},
                                  {"count", relation.count},
                                  {"features", TensorsToJson(relation.features)}});
  }
  for (const Task& task : schema.tasks) {
    Json sets = Json::array();
    for (const TaskSetSpec& set : task.sets) sets.push_back(SetToJson(set));
    value["tasks"].push_back({{"name", task.name}, {"metadata", task.metadata}, {"sets", sets}});
  }
  return value;
}

StatusOr<Schema> SchemaFromJson(const Json& value, std::string_view where) {
  Schema schema;
  HG_ASSIGN_OR_RETURN(schema.graph_name, GetString(value, "name", where));
  HG_ASSIGN_OR_RETURN(schema.node_types,
                      ListFromJson<NodeType>(value, "node_types", where, NodeTypeFromJson));
  HG_ASSIGN_OR_RETURN(schema.relations,
                      ListFromJson<Relation>(value, "relations", where, RelationFromJson));
  HG_ASSIGN_OR_RETURN(schema.tasks, ListFromJson<Task>(value, "tasks", where, TaskFromJson));
  const Status valid = schema.Validate();
  if (!valid.ok()) return DataLoss("{}: {}", where, Message(valid));
  return schema;
}

}  // namespace halograph
