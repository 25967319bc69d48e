#include "common/state/engine/steps/turns.h"

#include <algorithm>
#include <utility>

namespace halograph {

int64_t Turns::Take() {
  const MonitorLock lock(*monitor_);
  return next_++;
}

Status Turns::WaitForTurn(int64_t ticket, const Patience& patience,
                          std::function<void()> work) noexcept {
  const MonitorLock lock(*monitor_);
  while (serving_ != ticket) {
    Status waited = patience.Wait(*monitor_);
    if (waited.ok()) continue;
    left_.emplace(ticket, std::move(work));
    return waited;
  }
  return OkStatus();
}

void Turns::EndTurn() {
  while (true) {
    std::function<void()> work;
    {
      const MonitorLock lock(*monitor_);
      ++serving_;
      const auto left = left_.find(serving_);
      if (left == left_.end()) return monitor_->NotifyAll();
      work = std::move(left->second);
      left_.erase(left);
    }
    work();
  }
}

void Turns::BeginChange() {
  const MonitorLock lock(*monitor_);
  change_waits_ = true;
  while (readers_ > 0 || admitted_ > 0) monitor_->Wait(kForever);
  change_waits_ = false;
  changing_ = true;
}

void Turns::EndChange() {
  const MonitorLock lock(*monitor_);
  changing_ = false;
  admitted_ = waiting_readers_;
  monitor_->NotifyAll();
}

bool Turns::BeginRead(int64_t until_ns) {
  const MonitorLock lock(*monitor_);
  ++waiting_readers_;
  bool late = false;
  while (!late && (changing_ || (change_waits_ && admitted_ == 0))) {
    late = until_ns != kForever && scheduler_.NowNs() >= until_ns;
    if (!late) monitor_->Wait(until_ns);
  }
  --waiting_readers_;
  if (late) return false;  // nobody was admitted: this reader neither
  admitted_ = std::max(admitted_ - 1, 0);
  ++readers_;
  return true;
}

void Turns::EndRead() {
  const MonitorLock lock(*monitor_);
  if (--readers_ == 0) monitor_->NotifyAll();
}

}  // namespace halograph
