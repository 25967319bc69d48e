// Small partition folders for tests, written straight from lists of edges: no partitioner, but the
// project's own manifests and arrays, so what is written is what a server or trainer opens.
//
//   TestGraphSpec spec;
//   spec.parts = 2;
//   spec.node_types = {{.name = "node", .owners = {0, 1, 0}}};          // three nodes
//   spec.relations = {{"node", "edge", "node", {{0, 1}, {2, 1}}}};      // two edges, both into 1
//   spec.node_types[0].features = {MakeTensor<float>("feat", {1, 2, 3, 4, 5, 6}, 2)};
//   HG_ASSIGN_OR_RETURN(path graph, WriteTestGraph(spec, folder / "graph"));
//
// An edge feature of one column whose spec.sampling is set gets alias tables (no NaN or negative
// number in it: not checked).
// All ids in a spec are input ("original") ids, from 0 per node type. Global ids: GlobalNodeIds.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "common/storage/npy.h"

namespace halograph {

// A matrix in C order, rows in input order (of nodes, of edges, or of a task set).
struct TestTensor {
  TensorSpec spec = {};
  std::vector<std::byte> data = {};
};

// Rank 1 if dim is 0, else [values / dim, dim].
template <typename T>
[[nodiscard]] TestTensor MakeTensor(const std::string& name, const std::vector<T>& values,
                                    int64_t dim = 0) {
  TestTensor tensor;
  tensor.spec = {
      .name = name, .dtype = DTypeOf<T>(), .rank = dim > 0 ? 2 : 1, .dim = dim > 0 ? dim : 1};
  tensor.data.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

// Under another name, the rows of a float tensor as the partitioner narrows them (NarrowRow).
// Requires that every number fits.
[[nodiscard]] TestTensor Narrowed(const TestTensor& tensor, const std::string& name, DType dtype);

struct TestNodeType {
  std::string name = "node";
  std::vector<int> owners = {};           // part of each node
  std::vector<TestTensor> features = {};  // any order
};

struct TestRelation {
  std::string source = "node";
  std::string name = "edge";
  std::string destination = "node";
  std::vector<std::pair<int64_t, int64_t>> edges = {};  // (source, destination)
  std::vector<TestTensor> features = {};

  [[nodiscard]] std::string triple() const { return source + ":" + name + ":" + destination; }
};

struct TestTaskSet {
  std::string set = "train";
  std::string type = "node";  // node type, or relation triple if `edges`
  bool edges = false;
  std::vector<TestTensor> arrays = {};  // one is "seeds": int64 [n] or [n, k], input node ids
};

struct TestTask {
  std::string name = "task";
  Json metadata = Json::object();
  std::vector<TestTaskSet> sets = {};
};

struct TestGraphSpec {
  std::string name = "test";
  int parts = 1;
  std::vector<TestNodeType> node_types = {};  // any order: sorted on writing
  std::vector<TestRelation> relations = {};   // any order: sorted on writing
  std::vector<TestTask> tasks = {};
  // By part, how many nodes each of its clusters has; of the only node type. Empty: no clusters.
  std::vector<std::vector<int64_t>> cluster_nodes = {};
};

// Writes a complete graph folder `folder` (which must not exist; parents are made) and returns it:
// GRAPH/manifest.json and one part-XXXX a part. Nodes are numbered by owner, then input id; edges
// by destination, then input position. Same spec, same bytes but for the build's version.
//   InvalidArgument  an owner, edge or seed out of range, rows or clusters that do not fit
//   AlreadyExists    the folder is there
[[nodiscard]] StatusOr<std::filesystem::path> WriteTestGraph(const TestGraphSpec& spec,
                                                             const std::filesystem::path& folder);

// Global id of each input id of a node type (by name) of the spec, as WriteTestGraph numbers them.
// Requires the type to exist.
[[nodiscard]] std::vector<int64_t> GlobalNodeIds(const TestGraphSpec& spec,
                                                 const std::string& node_type);

// The schema that the written folder has.
[[nodiscard]] Schema TestSchema(const TestGraphSpec& spec);

}  // namespace halograph
