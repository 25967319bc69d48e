// Runs methods and the writer on a small generated graph, to measure them on this machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "common/base/status.h"
#include "partitioner/methods/method.h"
#include "partitioner/plan/graph_sizes.h"

namespace halograph {

// About as many edges a node as the graph that is planned for.
struct TrialSize {
  int64_t nodes = 0;
  int64_t edges = 0;
  bool reciprocal = true;  // each edge is listed in both directions

  [[nodiscard]] static TrialSize For(const GraphCounts& counts, double reciprocity);
};

struct MethodTrial {
  TrialSize size;
  double seconds = 0;
  int passes = 0;    // over the edges
  int attempts = 1;  // of METIS, where the method calls it, since small graphs get several
};

// Runs a method on communities of nodes with most edges inside. `scratch`: an existing folder.
[[nodiscard]] StatusOr<MethodTrial> TryMethod(const std::string& name, const MethodOptions& options,
                                              const TrialSize& size,
                                              const std::filesystem::path& scratch);

// Seconds to renumber and write such a graph, without features.
[[nodiscard]] StatusOr<double> TryWriting(int parts, const TrialSize& size,
                                          const std::filesystem::path& scratch);

}  // namespace halograph
