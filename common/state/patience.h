// How long one call may wait, in the time of a scheduler.
#pragma once

#include <algorithm>
#include <chrono>

#include "common/base/cancel.h"
#include "common/state/env.h"

namespace halograph {

class Patience {
 public:
  Patience() = default;  // endless
  // Both outlive it.
  Patience(const WorkLimits& limits, const Scheduler& scheduler)
      : cancel_(limits.cancel), scheduler_(&scheduler) {
    if (!limits.deadline.has_value()) return;
    until_ns_ =
        std::chrono::duration_cast<std::chrono::nanoseconds>(limits.deadline->time_since_epoch())
            .count();
  }

  // One that waits for nothing.
  [[nodiscard]] static Patience None(const Scheduler& scheduler) {
    return {{.deadline = std::chrono::steady_clock::time_point::min()}, scheduler};
  }

  [[nodiscard]] bool endless() const { return cancel_ == nullptr && until_ns_ == kForever; }
  [[nodiscard]] int64_t until_ns() const { return until_ns_; }
  // DeadlineExceeded or Cancelled: it is at an end.
  [[nodiscard]] Status Check() const {
    if (cancel_ != nullptr) HG_RETURN_IF_ERROR(cancel_->Check());
    if (until_ns_ == kForever || scheduler_->NowNs() < until_ns_) return OkStatus();
    return DeadlineExceeded("the deadline of the call has passed");
  }
  // Waits for a change of what the monitor, which is held, guards; not beyond `until_ns`. After an
  // error of Check it has not waited.
  [[nodiscard]] Status Wait(Monitor& monitor, int64_t until_ns = kForever) const {
    HG_RETURN_IF_ERROR(Check());
    int64_t until = std::min(until_ns, until_ns_);
    if (cancel_ != nullptr) until = std::min(until, scheduler_->NowNs() + kCancelPollNs);
    monitor.Wait(until);
    return OkStatus();
  }

 private:
  static constexpr int64_t kCancelPollNs = 20'000'000;

  const CancelToken* cancel_ = nullptr;
  const Scheduler* scheduler_ = nullptr;
  int64_t until_ns_ = kForever;
};

}  // namespace halograph
