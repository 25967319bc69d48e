#include "partitioner/readers/task_check.h"

#include <string>
#include <vector>

namespace halograph {
namespace {

const InputRelation* FindRelation(const Dataset& dataset, const std::string& triple) {
  for (const InputRelation& relation : dataset.relations) {
    if (relation.triple() == triple) return &relation;
  }
  return nullptr;
}

// The node type that each column of the seeds holds ids of.
StatusOr<std::vector<std::string>> ColumnTypes(const Dataset& dataset, const InputTaskSet& set) {
  const TensorSpec& seeds = set.arrays.front().spec;
  const std::string& file = set.arrays.front().path;
  if (!set.edges) return std::vector<std::string>(seeds.dim, set.type);
  const InputRelation& relation = *FindRelation(dataset, set.type);
  if (seeds.rank != 2 || seeds.dim < 2) {
    return InvalidArgument(
        "{}: seeds of a relation have shape (n, 2), one source and one destination per row; found "
        "{}",
        file, seeds.rank == 1 ? "(n)" : "(n, 1)");
  }
  if (seeds.dim > 2 && relation.source != relation.destination) {
    return InvalidArgument(
        "{}: tuples have {} columns, and it is not known which are of type `{}` and which of type "
        "`{}`; give pairs",
        file, seeds.dim, relation.source, relation.destination);
  }
  std::vector<std::string> types(seeds.dim, relation.destination);
  types[0] = relation.source;
  return types;
}

Status CheckSeedRange(const Dataset& dataset, const InputTaskSet& set) {
  HG_ASSIGN_OR_RETURN(const std::vector<std::string> types, ColumnTypes(dataset, set));
  const NpyArray& seeds = *set.arrays.front().array;
  HG_ASSIGN_OR_RETURN(const std::span<const int64_t> ids, seeds.As<int64_t>());
  std::vector<int64_t> counts;
  for (const std::string& type : types) {
    counts.push_back(dataset.node_types[dataset.NodeTypeIndex(type)].count);
  }
  const size_t columns = types.size();
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t count = counts[i % columns];
    if (ids[i] >= 0 && ids[i] < count) continue;
    return OutOfRange("{}: row {}: seed {} is beyond the {} nodes of type `{}`",
                      set.arrays.front().path, i / columns, ids[i], count, types[i % columns]);
  }
  return OkStatus();
}

}  // namespace

Status ResolveTaskSet(const Dataset& dataset, InputTaskSet* set) {
  const bool is_node_type = dataset.NodeTypeIndex(set->type) >= 0;
  set->edges = !is_node_type;
  if (!is_node_type && FindRelation(dataset, set->type) == nullptr) {
    return NotFound("type `{}` is neither a node type nor a relation of the graph", set->type);
  }
  const InputTensor& seeds = set->arrays.front();
  for (const InputTensor& array : set->arrays) {
    if (array.array->rows() == seeds.array->rows()) continue;
    return InvalidArgument("{}: `{}` has {} rows, but `seeds` ({}) has {}", array.path,
                           array.spec.name, array.array->rows(), seeds.path, seeds.array->rows());
  }
  return CheckSeedRange(dataset, *set);
}

}  // namespace halograph
