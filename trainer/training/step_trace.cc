#include "trainer/training/step_trace.h"

#include <utility>

#include "trainer/pipeline/trace_ids.h"

namespace halograph {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kStage = "stage";
constexpr std::string_view kCall = "call";
// The line of what the rank's own thread does.
constexpr std::string_view kOwnTrack = "train";

std::string_view NameOf(BatchPurpose purpose) {
  switch (purpose) {
    case BatchPurpose::kTrain:
      return "train";
    case BatchPurpose::kValid:
      return "valid";
    case BatchPurpose::kTest:
      return "test";
    case BatchPurpose::kPredict:
      return "predict";
  }
  return "";
}

Json ArgsOf(int rank, const StepId& step) {
  return {{"purpose", NameOf(step.purpose)},
          {"epoch", step.epoch},
          {"step", step.step},
          {"trace", ToString(TraceIdOf(rank, step))}};
}

}  // namespace

OnStage StageTracer(const Session& session) {
  if (session.trace == nullptr) return nullptr;
  return [trace = session.trace, rank = session.options.rank](
             std::string_view stage, const StepId& step, Clock::time_point begin,
             Clock::time_point end) {
    trace->Add({.track = stage,
                .name = stage,
                .category = kStage,
                .begin = begin,
                .end = end,
                .args = ArgsOf(rank, step)});
  };
}

OnCallEnded CallTracer(const Session& session) {
  if (session.trace == nullptr) return nullptr;
  return [trace = session.trace](const CallRecord& call) {
    trace->Add({.track = call.server,
                .name = call.method,
                .category = kCall,
                .begin = call.begin,
                .end = call.end,
                .args = {{"server", call.server},
                         {"request", call.request_id},
                         {"trace", call.trace.trace.empty() ? "" : ToString(call.trace.trace)},
                         {"span", call.trace.trace.empty() ? "" : SpanText(call.trace.span)},
                         {"attempts", call.attempts},
                         {"answered", call.answered}}});
  };
}

TracedWork::TracedWork(const Session& session, std::string_view name, std::optional<StepId> step)
    : session_(session), name_(name), step_(step) {
  if (session.trace != nullptr) begin_ = Clock::now();
}

TracedWork::~TracedWork() {
  if (session_.trace == nullptr) return;
  session_.trace->Add(
      {.track = kOwnTrack,
       .name = name_,
       .category = kStage,
       .begin = begin_,
       .end = Clock::now(),
       .args = step_.has_value() ? ArgsOf(session_.options.rank, *step_) : Json::object()});
}

}  // namespace halograph
