#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "partitioner/verify/checks.h"

namespace halograph {
namespace {

std::vector<TensorSpec> Specs(const std::vector<InputTensor>& tensors) {
  std::vector<TensorSpec> specs;
  for (const InputTensor& tensor : tensors) specs.push_back(tensor.spec);
  return specs;
}

std::string Show(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> words;
  for (const TensorSpec& spec : specs) {
    words.push_back(fmt::format("{} {}[{}]", spec.name, DTypeName(spec.dtype), spec.dim));
  }
  return fmt::format("({})", fmt::join(words, ", "));
}

void CompareTensors(const std::string& what, const std::vector<InputTensor>& input,
                    std::vector<TensorSpec> found, Findings* findings) {
  const std::vector<TensorSpec> expected = Specs(input);
  for (TensorSpec& spec : found) spec.sampling = false;  // an option of the run, not of the input
  if (found == expected) return;
  findings->Add("{}: the graph has {}, the input {}", what, Show(found), Show(expected));
}

// True if both lists have the same length and names; else says what each has.
bool SameNames(const std::string& what, const std::vector<std::string>& input,
               const std::vector<std::string>& found, Findings* findings) {
  if (input == found) return true;
  findings->Add("{}: the graph has ({}), the input ({})", what, fmt::join(found, ", "),
                fmt::join(input, ", "));
  return false;
}

void CompareNodeTypes(const Dataset& dataset, const Schema& schema, Findings* findings) {
  std::vector<std::string> input, found;
  for (const InputNodeType& type : dataset.node_types) input.push_back(type.name);
  for (const NodeType& type : schema.node_types) found.push_back(type.name);
  if (!SameNames("node types", input, found, findings)) return;
  for (size_t i = 0; i < input.size(); ++i) {
    const InputNodeType& expected = dataset.node_types[i];
    const NodeType& type = schema.node_types[i];
    if (type.count != expected.count) {
      findings->Add("node type `{}`: the graph has {} nodes, the input {}", type.name, type.count,
                    expected.count);
    }
    CompareTensors(fmt::format("features of node type `{}`", type.name), expected.features,
                   type.features, findings);
  }
}

void CompareRelations(const Dataset& dataset, const Schema& schema, Findings* findings) {
  std::vector<std::string> input, found;
  for (const InputRelation& relation : dataset.relations) input.push_back(relation.triple());
  for (const Relation& relation : schema.relations) found.push_back(relation.triple());
  if (!SameNames("relations", input, found, findings)) return;
  for (size_t i = 0; i < input.size(); ++i) {
    CompareTensors(fmt::format("features of relation `{}`", input[i]),
                   dataset.relations[i].features, schema.relations[i].features, findings);
  }
}

void CompareTaskSets(const InputTask& expected, const Task& task, Findings* findings) {
  std::vector<std::string> input, found;
  for (const InputTaskSet& set : expected.sets) input.push_back(set.set + " of " + set.type);
  for (const TaskSetSpec& set : task.sets) found.push_back(set.set + " of " + set.type);
  if (!SameNames(fmt::format("sets of task `{}`", task.name), input, found, findings)) return;
  for (size_t i = 0; i < input.size(); ++i) {
    const std::string what = fmt::format("task `{}`, {}", task.name, input[i]);
    const int64_t rows = expected.sets[i].arrays.front().array->rows();
    if (task.sets[i].rows != rows) {
      findings->Add("{}: the graph has {} rows, the input {}", what, task.sets[i].rows, rows);
    }
    CompareTensors(what, expected.sets[i].arrays, task.sets[i].arrays, findings);
  }
}

}  // namespace

void VerifySchema(const Dataset& dataset, const Schema& schema, Findings* findings) {
  CompareNodeTypes(dataset, schema, findings);
  CompareRelations(dataset, schema, findings);
  std::vector<std::string> input, found;
  for (const InputTask& task : dataset.tasks) input.push_back(task.name);
  for (const Task& task : schema.tasks) found.push_back(task.name);
  if (!SameNames("tasks", input, found, findings)) return;
  for (size_t i = 0; i < input.size(); ++i) {
    if (dataset.tasks[i].metadata != schema.tasks[i].metadata) {
      findings->Add("task `{}`: metadata is {} in the graph, {} in the input", input[i],
                    schema.tasks[i].metadata.dump(), dataset.tasks[i].metadata.dump());
    }
    CompareTaskSets(dataset.tasks[i], schema.tasks[i], findings);
  }
}

}  // namespace halograph
