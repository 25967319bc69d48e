// SIGINT and SIGTERM as an event: a flag, and a callback from a thread of its own.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "common/base/status.h"

namespace halograph {

// One at a time in a process, made before other threads start (they inherit the blocked signals)
// and living as long as they do. A second signal ends the process at once with code 1.
class StopSignal {
 public:
  // Internal if the system refuses what is needed.
  [[nodiscard]] static StatusOr<std::unique_ptr<StopSignal>> Install();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] bool requested() const { return requested_.load(); }
  [[nodiscard]] const std::atomic<bool>* flag() const { return &requested_; }

  // What to do when a signal comes, from the signal thread; at once if one came already. Replaces
  // the callback before; empty for none. After it returns the old one does not run any more.
  void OnStop(std::function<void()> callback);

 private:
  StopSignal() = default;
  void Watch();
  void Handle(int signal);

  int signal_fd_ = -1;
  int end_fd_ = -1;
  std::atomic<bool> requested_{false};
  std::mutex mutex_;
  std::function<void()> callback_;
  std::thread thread_;
};

}  // namespace halograph
