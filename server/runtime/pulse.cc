#include "server/runtime/pulse.h"

#include <algorithm>
#include <utility>

namespace halograph::server {

void Pulse::Start(std::chrono::nanoseconds period, std::function<void()> alive) {
  const MutexLock lock(mutex_);
  alive_ = std::move(alive);
  period_ = period;
  next_ = Time();
  seen_ = dispatcher_->tasks_ended();
  task_given_ = false;
}

void Pulse::Stop() {
  const MutexLock lock(mutex_);
  alive_ = nullptr;
}

std::chrono::nanoseconds Pulse::Beat(Time now) {
  const MutexLock lock(mutex_);
  if (alive_ == nullptr) return std::chrono::nanoseconds::max();
  if (now < next_) return next_ - now;
  const uint64_t ended = dispatcher_->tasks_ended();
  if (ended != seen_) {
    seen_ = ended;
    task_given_ = false;
    next_ = now + period_;
    alive_();
  }
  // Where the queue is full there are tasks enough.
  if (!task_given_) task_given_ = dispatcher_->Run([] {}).ok();
  return next_ > now ? period_ : std::min<std::chrono::nanoseconds>(kAgain, period_);
}

}  // namespace halograph::server
