#include "trainer/pipeline/trace_ids.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "common/base/log.h"
#include "common/base/printable.h"

namespace halograph {
namespace {

constexpr char kVariable[] = "TRACEPARENT";

RunTrace OfThisProcess() {
  const char* const set = std::getenv(kVariable);
  std::random_device device;
  const uint64_t random = (uint64_t{device()} << 32U) | device();
  return MakeRunTrace(set == nullptr ? std::nullopt : std::optional<std::string>(set), random);
}

// The last `digits` hex digits of a number, in front of those that `behind` has.
uint64_t Digits(int64_t number, unsigned digits, unsigned behind) {
  return (static_cast<uint64_t>(number) & ((uint64_t{1} << (4 * digits)) - 1)) << (4 * behind);
}

}  // namespace

RunTrace MakeRunTrace(const std::optional<std::string>& traceparent, uint64_t random) {
  RunTrace trace{.run = std::max<uint64_t>(random, 1)};
  if (!traceparent.has_value() || traceparent->empty()) return trace;
  const auto given = ParseTraceparent(*traceparent);
  if (given.has_value()) {
    trace.given = given->trace;
  } else {
    spdlog::warn(
        "the environment variable {} is left out: '{}' is no traceparent (such as {}); this run "
        "has trace ids of its own",
        kVariable, Printable(*traceparent, kNameShown),
        ToTraceparent({.trace = {.high = trace.run, .low = 0}, .span = 1}));
  }
  return trace;
}

TraceId TraceIdOf(const RunTrace& run, int rank, const StepId& step) {
  if (!run.given.empty()) return run.given;
  return {.high = run.run,
          .low = Digits(rank, 4, 12) | Digits(static_cast<int64_t>(step.purpose), 1, 11) |
                 Digits(step.epoch, 4, 7) | Digits(step.step, 7, 0)};
}

TraceId TraceIdOf(int rank, const StepId& step) {
  static const RunTrace run = OfThisProcess();
  return TraceIdOf(run, rank, step);
}

}  // namespace halograph
