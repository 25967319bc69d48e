// Estimates what each method needs on a graph (memory, disk space and time) before it runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "partitioner/methods/method.h"
#include "partitioner/plan/graph_sizes.h"

namespace halograph {

struct PlanOptions {
  std::vector<std::string> methods;
  MethodOptions method;  // parts and memory among them
};

struct MethodPlan {
  std::string method;
  std::string failure;       // why it cannot be tried; else empty
  int64_t memory_bytes = 0;  // of the whole run, the program included: expected
  // As a run with the plan's limit computes it before it starts: as if no two edges folded into
  // one.
  int64_t most_bytes = 0;
  MemoryPlan memory;
  int64_t temporary_bytes = 0;  // on disk while it runs
  double assign_seconds = 0;
  double write_seconds = 0;
};

struct RunPlan {
  GraphSizes sizes;
  EdgeSample sample;
  int parts = 0;
  int64_t memory_limit = 0;
  double random_access_ns = 0;  // to arrays as large as a run's
  double write_bytes_per_second = 0;
  int64_t output_bytes = 0;  // the partition folder
  std::string chosen;        // by --method auto
  std::string why;
  std::vector<MethodPlan> methods;
};

// Tries each method, and the writer, on a small graph for a few seconds in all. `scratch`: an
// existing folder, on the disk that the output will be on.
[[nodiscard]] StatusOr<RunPlan> PlanRun(const GraphSizes& sizes, const EdgeSample& sample,
                                        const PlanOptions& options,
                                        const std::filesystem::path& scratch);

// The bytes of the partition folder: an estimate, since halo nodes are (NeedsOfPart).
[[nodiscard]] int64_t PlanOutputBytes(const GraphSizes& sizes, int parts);

// Memory of a method and of writing after it. Methods that fold the two directions of an edge into
// one need less than their own plan, which knows only counts, where the sample has `reciprocity`.
// InvalidArgument: an unknown method, or an order that it cannot give (CheckOrder).
[[nodiscard]] StatusOr<MemoryPlan> PlanRunMemory(const std::string& method,
                                                 const GraphCounts& counts, double reciprocity,
                                                 const MethodOptions& options);

// Whether a run with the plan's limit would start.
[[nodiscard]] inline bool Fits(const RunPlan& plan, const MethodPlan& method) {
  return method.most_bytes <= plan.memory_limit;
}

[[nodiscard]] Json ToJson(const RunPlan& plan);
[[nodiscard]] std::string FormatTable(const RunPlan& plan);

}  // namespace halograph
