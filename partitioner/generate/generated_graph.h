// What the generators share. A homogeneous graph is described by functions of edge and node
// numbers, and written as a GraphBolt folder without holding the whole graph in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "common/base/status.h"

namespace halograph {

// Parts of the nodes that a task's sets get, drawn without overlap. Each set is written in
// ascending order.
struct SetShares {
  double train = 0.10;
  double valid = 0.05;
  double test = 0.10;

  // InvalidArgument: a share outside [0, 1], or a sum above 1.
  [[nodiscard]] Status Validate() const;
};

// Where the result goes.
struct GenerateTarget {
  std::filesystem::path folder;
  bool replace = false;  // of an existing folder, once the new one is complete
};

struct GeneratedGraph {
  std::string name;
  int64_t nodes = 0;
  int64_t edges = 0;  // directed
  // Writes edges begin .. begin + sources.size() - 1. Called twice for each range, in order: what
  // it writes may depend on nothing but its arguments.
  std::function<void(int64_t begin, std::span<int64_t> sources, std::span<int64_t> destinations)>
      fill_edges;

  int64_t feature_dim = 0;  // 0: no features
  std::function<void(int64_t node, std::span<float> row)> fill_features;

  int64_t classes = 0;  // 0: no task
  std::function<int64_t(int64_t node)> label;
  SetShares shares;
  uint64_t split_key = 0;
};

// metadata.yaml, edges/edge.npy (int64 [2, edges]), features/feat.npy (float32), tasks/. Memory:
// eight bytes a node for the split. The folder appears whole or not at all.
//   AlreadyExists      the folder exists and `replace` is false
//   ResourceExhausted  not enough room on the disk
[[nodiscard]] Status WriteGeneratedGraph(const GeneratedGraph& graph, const GenerateTarget& target);

}  // namespace halograph
