// Tells that a server's threads work, as long as they do: what a watchdog waits for. Its beats come
// from the housekeeper, and each is told only if a task of the lane that computes ended since the
// one before. So it ends with any of the two: a housekeeper that hangs, and threads that all hang.
// A server that has nothing to do is given a task that does nothing.
//
// The other lanes do not count: they may rightly wait long, for a disk or for pushes to come.
// A task that computes on every thread for longer than a watchdog looks as one that hangs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "common/base/mutex.h"
#include "server/runtime/dispatcher.h"

namespace halograph::server {

// Thread-safe.
class Pulse {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Another beat, where the one before found that nothing had ended.
  static constexpr std::chrono::milliseconds kAgain{100};

  // The dispatcher outlives it.
  explicit Pulse(Dispatcher* dispatcher) : dispatcher_(dispatcher) {}

  // From now on `alive` is called each `period` while the threads work. It must not wait. Requires
  // a positive period. Wake the housekeeper then.
  void Start(std::chrono::nanoseconds period, std::function<void()> alive);
  // After it returns `alive` is not called any more.
  void Stop();

  // A round of the housekeeper; after how long the next is due, at the latest.
  [[nodiscard]] std::chrono::nanoseconds Beat(Time now);

 private:
  Dispatcher* const dispatcher_;
  Mutex mutex_;
  std::function<void()> alive_ HG_GUARDED_BY(mutex_);  // empty: nobody asks
  std::chrono::nanoseconds period_ HG_GUARDED_BY(mutex_){};
  Time next_ HG_GUARDED_BY(mutex_);
  uint64_t seen_ HG_GUARDED_BY(mutex_) = 0;        // tasks that had ended at the beat before
  bool task_given_ HG_GUARDED_BY(mutex_) = false;  // one that does nothing, since then
};

}  // namespace halograph::server
