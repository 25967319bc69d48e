// What a graph consists of: node types, relations, their tensors, and tasks. Part of the identity.
// Plain values; const use is thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/dtype.h"
#include "common/storage/json.h"

namespace halograph {

// One matrix of features of a node type or relation, stored and sent in this dtype.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  int rank = 2;           // 1: [rows], 2: [rows, dim]
  int64_t dim = 1;        // elements a row; 1 for rank 1
  bool sampling = false;  // of a relation: alias tables were made of it, sampling can go by it

  [[nodiscard]] size_t row_bytes() const { return RowBytes(dtype, dim); }
  bool operator==(const TensorSpec&) const = default;
};

struct NodeType {
  std::string name;
  int64_t count = 0;
  std::vector<TensorSpec> features;  // by name
  bool operator==(const NodeType&) const = default;
};

struct Relation {
  std::string source;  // name of the source node type
  std::string name;
  std::string destination;           // name of the destination node type
  int64_t count = 0;                 // edges
  std::vector<TensorSpec> features;  // by name

  [[nodiscard]] std::string triple() const { return source + ":" + name + ":" + destination; }
  bool operator==(const Relation&) const = default;
};

// One of train, valid, test of a task, for one node type or relation.
struct TaskSetSpec {
  std::string set;                 // "train", "valid" or "test"
  std::string type;                // node type name, or relation triple
  bool edges = false;              // type is a relation
  int64_t rows = 0;                // over all partitions
  std::vector<TensorSpec> arrays;  // "seeds" first, then the others by name
  bool operator==(const TaskSetSpec&) const = default;
};

struct Task {
  std::string name;
  Json metadata = Json::object();  // "num_classes" and whatever else the input had
  std::vector<TaskSetSpec> sets;
  bool operator==(const Task&) const = default;
};

struct Schema {
  std::string graph_name;
  std::vector<NodeType> node_types;  // in byte order of the name
  std::vector<Relation>
      relations;            // in byte order of the triple: the order of the sampling contract
  std::vector<Task> tasks;  // in the order of the input

  // Index by name; NotFound naming the name and the names that exist (at most ten).
  [[nodiscard]] StatusOr<int> NodeTypeIndex(std::string_view name) const;
  [[nodiscard]] StatusOr<int> RelationIndex(std::string_view triple) const;
  // Index of the node type at a relation's end. Requires a valid schema.
  [[nodiscard]] int SourceType(int relation) const;
  [[nodiscard]] int DestinationType(int relation) const;
  // InvalidArgument: order wrong, name twice, an end that is no node type, negative count.
  [[nodiscard]] Status Validate() const;

  bool operator==(const Schema&) const = default;
};

[[nodiscard]] StatusOr<const TensorSpec*> FindTensor(const std::vector<TensorSpec>& tensors,
                                                     std::string_view name, std::string_view owner);

// Where a task set stands in a schema: schema.tasks[task].sets[set].
struct TaskSetIndex {
  int task = 0;
  int set = 0;
};
// `set`: "train", "valid" or "test"; `type`: node type name or relation triple.
// NotFound naming what is asked for and what exists (at most ten).
[[nodiscard]] StatusOr<TaskSetIndex> FindTaskSet(const Schema& schema, std::string_view task,
                                                 std::string_view set, std::string_view type);

[[nodiscard]] Json ToJson(const Schema& schema);
// DataLoss naming `where` and the field.
[[nodiscard]] StatusOr<Schema> SchemaFromJson(const Json& value, std::string_view where);

}  // namespace halograph
