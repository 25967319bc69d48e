// Notices that this process did not run for a while: it was stopped (SIGSTOP), or its machine had
// no time for it. Its steady clock ran on, so that the time of what it waited for seems to be over.
// Not noticed is a machine that sleeps: the steady clock stands still then.
//
// One thread, which looks at least at every next_look() while it waits: what is between two looks
// and that is a gap. Work of its own, however long, is none: it leaves that out (OwnWork).
#pragma once

#include <algorithm>
#include <chrono>

namespace halograph {

class SuspensionWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // `timeout`: of what is waited for, > 0; shorter waits are looked at more often.
  SuspensionWatch(std::chrono::nanoseconds timeout, Clock::time_point now);

  // So much of the time since the last look was work of this thread's own.
  void LeaveOut(std::chrono::nanoseconds worked) { worked_until_ = last_ += worked; }
  // One more thread's wait is watched, which began then, earlier than the last look perhaps. Work
  // that was left out stays so.
  void WatchSince(Clock::time_point began) {
    last_ = std::min(last_, std::max(began, worked_until_));
  }
  [[nodiscard]] Clock::time_point last_look() const { return last_; }
  [[nodiscard]] Clock::time_point next_look() const { return last_ + pause_; }
  // How long the process did not run since the look before; 0 if that is less
  // than half of `timeout`.
  [[nodiscard]] std::chrono::nanoseconds Look(Clock::time_point now);

 private:
  std::chrono::nanoseconds pause_;
  std::chrono::nanoseconds gap_;
  Clock::time_point last_;
  Clock::time_point worked_until_ = {};
};

// Work of the thread's own, from here to the end of its scope. A suspension within it is not
// noticed. `watch` may be null: nobody watches this thread.
class OwnWork {
 public:
  explicit OwnWork(SuspensionWatch* watch) : watch_(watch) {}
  ~OwnWork() {
    if (watch_ != nullptr) watch_->LeaveOut(SuspensionWatch::Clock::now() - begin_);
  }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;

 private:
  SuspensionWatch* const watch_;
  const SuspensionWatch::Clock::time_point begin_ = SuspensionWatch::Clock::now();
};

}  // namespace halograph
