// The graphs that partition methods are measured on, with their edges in the order given or
// shuffled. Nodes keep their ids in both.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "partitioner/readers/dataset.h"

namespace halograph {

struct BenchGraph {
  std::string name;  // "cora", ..., "planted", "hierarchical"; else a folder or file of a graph
  bool shuffled = false;
};

[[nodiscard]] std::vector<std::string> RealGraphNames();

// Real graphs are read from the folder that HALOGRAPH_DATA names, generated ones are made once in
// `work` (an existing folder), where shuffled edges lie too. `nodes`: of generated graphs. Features
// are left out.
//   FailedPrecondition  HALOGRAPH_DATA is not set
// and what reading and generating report.
[[nodiscard]] StatusOr<Dataset> OpenBenchGraph(const BenchGraph& graph, int64_t nodes,
                                               uint64_t seed, const std::filesystem::path& work);

}  // namespace halograph
