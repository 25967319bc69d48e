// Runs partition methods side by side on one graph and reports what each costs and what it means
// for a trainer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "partitioner/compare/remote_cost.h"
#include "partitioner/inspect/inspect_graph.h"
#include "partitioner/methods/method.h"

namespace halograph {

// Reads how a list names a method: "hdrf", or "hdrf:random" with the owner rule of an edge
// partitioner. Returns the method's name; a rule goes to options->edge.owner.
//   InvalidArgument  no such method or rule, or a rule for a method that takes none
[[nodiscard]] StatusOr<std::string> ParseMethodWord(std::string_view word, MethodOptions* options);

struct CompareOptions {
  std::vector<std::string> methods;  // as ParseMethodWord takes them
  std::vector<int> parts = {2, 4, 8};
  MethodOptions method;  // parts and scratch are set for each run
  SamplingPlan sampling;
  std::function<pid_t()> fork = ::fork;  // as RunMethodInChild's
};

// One method at one number of partitions.
struct CompareRow {
  std::string method;
  int parts = 0;
  std::string failure;  // why there are no figures; else empty
  GraphSummary quality;
  RemoteCost remote;
  double seconds = 0;
  int64_t peak_anonymous_bytes = 0;
  int64_t planned_bytes = 0;  // of the method, the program included; also of one that failed
};

// One row per method and number of partitions, sorted by that number. Each run is a process of its
// own (RunMethodInChild); a run that fails gives a row with the reason. `scratch`: an empty folder
// for temporary files; its owner removes it.
//   InvalidArgument  what ParseMethodWord refuses
// and what SamplingPlan::Validate and writing the topology report; all before the first run.
[[nodiscard]] StatusOr<std::vector<CompareRow>> CompareMethods(
    const Dataset& dataset, const CompareOptions& options, const std::filesystem::path& scratch);

[[nodiscard]] Json ToJson(const std::vector<CompareRow>& rows, const CompareOptions& options);
// A table for people, ending with a newline. It explains the owner of an edge and halo nodes.
[[nodiscard]] std::string FormatTable(const std::vector<CompareRow>& rows,
                                      const CompareOptions& options);

}  // namespace halograph
