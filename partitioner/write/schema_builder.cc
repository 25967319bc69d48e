#include "partitioner/write/schema_builder.h"

namespace halograph {
namespace {

std::vector<TensorSpec> Specs(const std::vector<InputTensor>& tensors) {
  std::vector<TensorSpec> specs;
  for (const InputTensor& tensor : tensors) specs.push_back(tensor.spec);
  return specs;
}

}  // namespace

Schema BuildSchema(const Dataset& dataset, const std::vector<int64_t>& edge_counts) {
  Schema schema;
  schema.graph_name = dataset.name;
  for (const InputNodeType& type : dataset.node_types) {
    schema.node_types.push_back({type.name, type.count, Specs(type.features)});
  }
  for (size_t r = 0; r < dataset.relations.size(); ++r) {
    const InputRelation& relation = dataset.relations[r];
    schema.relations.push_back({relation.source, relation.name, relation.destination,
                                edge_counts[r], Specs(relation.features)});
  }
  for (const InputTask& input : dataset.tasks) {
    Task task{input.name, input.metadata, {}};
    for (const InputTaskSet& set : input.sets) {
      task.sets.push_back(
          {set.set, set.type, set.edges, set.arrays.front().array->rows(), Specs(set.arrays)});
    }
    schema.tasks.push_back(std::move(task));
  }
  return schema;
}

}  // namespace halograph
