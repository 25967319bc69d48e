// Maps between input ids and global ids of all nodes, in both directions, as the partition
// folder says. Built once, then read-only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition.h"
#include "partitioner/readers/dataset.h"
#include "partitioner/verify/findings.h"

namespace halograph {

class NodeMaps {
 public:
  // Finds original ids that the input does not have, that come twice, or that are missing.
  // Requires that node types and their counts agree.
  [[nodiscard]] static StatusOr<NodeMaps> Build(const Dataset& dataset, const PartitionSet& graph,
                                                Findings* findings);

  // -1 for a node that could not be matched. Requires an id within the type's count.
  [[nodiscard]] int64_t InputId(int node_type, int64_t global_id) const {
    return types_[node_type].to_input[global_id];
  }
  [[nodiscard]] int64_t GlobalId(int node_type, int64_t input_id) const {
    return types_[node_type].to_global[input_id];
  }
  // What a person calls the node; -1 for -1.
  [[nodiscard]] int64_t OriginalId(int node_type, int64_t input_id) const {
    return input_id < 0 || types_[node_type].original.empty()
               ? input_id
               : types_[node_type].original[input_id];
  }

 private:
  struct Type {
    std::vector<int64_t> to_input;
    std::vector<int64_t> to_global;
    std::span<const int64_t> original;  // by input id; empty: the input id itself
  };
  std::vector<Type> types_;
};

// Halo nodes of every part: exactly the sources of its edges that other parts own, ascending.
void VerifyHaloNodes(const PartitionSet& graph, Findings* findings);

}  // namespace halograph
