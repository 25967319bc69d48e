// How a list of methods names one: "hdrf", or "hdrf:random" with the owner rule of an edge
// partitioner. Pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "partitioner/compare/remote_cost.h"
#include "partitioner/inspect/inspect_graph.h"
#include "partitioner/methods/method.h"

namespace halograph {

// The method's name; the rule goes to options->edge.owner where there is one.
//   InvalidArgument  no such method or rule, or a rule for a method that takes none
[[nodiscard]] StatusOr<std::string> ParseMethodWord(std::string_view word, MethodOptions* options);

// Methods side by side on one graph: what each would cost, and what a trainer would have of it.

struct CompareOptions {
  std::vector<std::string> methods;  // as ParseMethodWord takes them
  std::vector<int> parts = {2, 4, 8};
  MethodOptions method;  // parts and scratch are set for each run
  SamplingPlan sampling;
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

// A row a method and number of partitions, by number. Each run is a process of its own
// (RunMethodInChild); one that fails is a row with its reason. `scratch`: an empty folder, for
// temporary files; its owner removes it.
//   InvalidArgument  what ParseMethodWord refuses: before the first run
// and, before it too, what SamplingPlan::Validate and writing the topology report.
[[nodiscard]] StatusOr<std::vector<CompareRow>> CompareMethods(
    const Dataset& dataset, const CompareOptions& options, const std::filesystem::path& scratch);

[[nodiscard]] Json ToJson(const std::vector<CompareRow>& rows, const CompareOptions& options);
// For people, ending with a newline; says what an edge's owner and a halo node are.
[[nodiscard]] std::string FormatTable(const std::vector<CompareRow>& rows,
                                      const CompareOptions& options);

}  // namespace halograph
