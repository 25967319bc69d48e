// What is known of a graph before its edges are read: enough to compute how much memory a run
// needs. Plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/readers/dataset.h"

namespace halograph {

struct RelationCounts {
  int source_type = 0;
  int destination_type = 0;
  int64_t edges = 0;  // at most
};

struct GraphCounts {
  std::vector<int64_t> nodes;  // per type
  std::vector<RelationCounts> relations;
  bool train = false, valid = false, test = false;  // which sets the tasks have

  [[nodiscard]] static GraphCounts Of(const Dataset& dataset);
  [[nodiscard]] int64_t num_nodes() const;
  [[nodiscard]] int64_t num_edges() const;
};

}  // namespace halograph
