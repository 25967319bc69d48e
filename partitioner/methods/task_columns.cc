#include "partitioner/methods/task_columns.h"

#include <algorithm>

namespace halograph {
namespace {

// Indexes of the node types at both ends of the set's type; equal for a node type.
StatusOr<std::pair<int, int>> EndTypes(const Dataset& dataset, const InputTaskSet& set) {
  if (!set.edges) {
    const int type = dataset.NodeTypeIndex(set.type);
    if (type < 0) return InvalidArgument("task set {}: unknown node type {}", set.set, set.type);
    return std::pair(type, type);
  }
  const auto relation =
      std::find_if(dataset.relations.begin(), dataset.relations.end(),
                   [&](const InputRelation& r) { return r.triple() == set.type; });
  if (relation == dataset.relations.end()) {
    return InvalidArgument("task set {}: unknown relation {}", set.set, set.type);
  }
  return std::pair(dataset.NodeTypeIndex(relation->source),
                   dataset.NodeTypeIndex(relation->destination));
}

}  // namespace

StatusOr<TaskColumns> ResolveTaskColumns(const Dataset& dataset, const InputTaskSet& set) {
  HG_ASSIGN_OR_RETURN(const auto ends, EndTypes(dataset, set));
  if (set.arrays.empty() || set.arrays.front().spec.name != "seeds") {
    return InvalidArgument("task set {} of {}: no array \"seeds\"", set.set, set.type);
  }
  const InputTensor& seeds = set.arrays.front();
  const NpyArray& array = *seeds.array;
  TaskColumns columns;
  HG_ASSIGN_OR_RETURN(columns.seeds, array.As<int64_t>());
  columns.rows = array.rows();
  const auto width = static_cast<size_t>(array.cols());
  if (set.edges && width < 2) {
    return InvalidArgument(
        "task set {} of {}: {} has one column, but the seeds of a relation are tuples of nodes; "
        "give (source, destination) rows",
        set.set, set.type, seeds.path);
  }
  if (width == 1) {
    columns.node_types = {ends.first};
  } else if (width == 2) {
    columns.node_types = {ends.first, ends.second};
    columns.owner_column = 1;
  } else if (ends.first != ends.second) {
    return InvalidArgument(
        "task set {} of {}: {} has {} columns, but only pairs are defined for a relation between "
        "different node types; split the tuples into pairs",
        set.set, set.type, seeds.path, width);
  } else {
    columns.node_types.assign(width, ends.first);
  }
  return columns;
}

}  // namespace halograph
