// The trace ids of the calls that a rank makes for its steps: by them a step's calls are found
// together in the servers' logs and slow requests, and in what --trace writes.
//
// Each step has a trace of its own, so that a server that names it names the step: 16 hex digits of
// the process, 4 of the rank, 1 of the purpose, 4 of the epoch and 7 of the step
// (the last digits of those that are longer). But a run that was started within a trace, which
// whoever started it told in the variable TRACEPARENT, goes on with that one: all its steps have
// its trace id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/trace_context.h"
#include "trainer/pipeline/step.h"

namespace halograph {

struct RunTrace {
  TraceId given = {};  // by who started the run; empty: each step has its own
  uint64_t run = 0;    // of the process: the first half of those; not 0
};

// `traceparent`: of the environment, if set; empty is not set; one that is none is left out, and
// the log says so.
// `random`: any number.
[[nodiscard]] RunTrace MakeRunTrace(const std::optional<std::string>& traceparent, uint64_t random);

[[nodiscard]] TraceId TraceIdOf(const RunTrace& run, int rank, const StepId& step);
// Of the run of this process.
[[nodiscard]] TraceId TraceIdOf(int rank, const StepId& step);

}  // namespace halograph
