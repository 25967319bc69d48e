// What a run traces (--trace): the stages of its steps and the calls that they make of servers,
// joined by the trace id, which the servers' logs have too. Where nothing is traced it costs a look
// at a pointer.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "client/call_record.h"
#include "trainer/pipeline/minibatch_stream.h"
#include "trainer/training/session.h"

namespace halograph {

// Of the session's trace, which they keep; null where there is none.
[[nodiscard]] OnStage StageTracer(const Session& session);
[[nodiscard]] OnCallEnded CallTracer(const Session& session);

// Traces what the rank's own thread does while it lives: a stage of `step`, or without one what
// belongs to no step. Outlived by the session, and what `name` refers to.
class TracedWork {
 public:
  TracedWork(const Session& session, std::string_view name, std::optional<StepId> step = {});
  ~TracedWork();
  TracedWork(const TracedWork&) = delete;
  TracedWork& operator=(const TracedWork&) = delete;

 private:
  const Session& session_;
  const std::string_view name_;
  const std::optional<StepId> step_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace halograph
