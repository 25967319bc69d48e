// What steps read, as tests make it up, and two judges of what a planner does with it that share no
// code with it: a replay that looks into every slot, and the optimum by a heap.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/cached/planner.h"

namespace halograph {

using PlanTrace = std::vector<std::vector<int64_t>>;  // per step: ids, each once

struct PlanTraceOptions {
  uint64_t seed = 1;
  int64_t rows = 4000;
  int64_t steps = 80;
  int64_t reads = 300;  // draws a step; repeats are left out
};

// Few rows that nearly all steps read, and many that few do.
[[nodiscard]] PlanTrace PowerLawTrace(const PlanTraceOptions& options);
// Rows of some communities a step, out of 40, and some from anywhere.
[[nodiscard]] PlanTrace CommunityTrace(const PlanTraceOptions& options);

// How often each row of [0, rows) is read, as weights.
[[nodiscard]] std::vector<float> CountReads(const PlanTrace& trace, int64_t rows);
// Different rows that the trace reads.
[[nodiscard]] int64_t CountTouched(const PlanTrace& trace, int64_t rows);

// The fewest rows that any cache of `slots` rows has to fetch, which may fetch a row and not keep
// it: what is kept after a step are the rows needed soonest (Belady).
[[nodiscard]] int64_t FewestMisses(const PlanTrace& trace, int64_t slots);

struct PlannedTrace {
  int64_t misses = 0;
  int64_t evicted = 0;
  int64_t open = 0;            // steps that were planned without the certificate
  int64_t longest_window = 0;  // steps announced and not planned, before one was planned
  int64_t most_bytes = 0;      // Planner::bytes()
  std::string wrong = {};      // the first thing that a plan had wrong
};

// Plans the trace. Before each step is planned, steps are announced for as long as some are left
// and `longer` asks for it.
[[nodiscard]] PlannedTrace PlanThrough(Planner& planner, const PlanTrace& trace,
                                       const std::function<bool(const Planner&)>& longer);

// Windows for PlanThrough: all, as long as the certificate needs, as long
// as the planner wants more, or so many steps.
[[nodiscard]] bool WholeWindow(const Planner& planner);
[[nodiscard]] bool UntilClosed(const Planner& planner);
[[nodiscard]] bool UntilContent(const Planner& planner);
[[nodiscard]] std::function<bool(const Planner&)> WindowOf(int64_t steps);

}  // namespace halograph
