// SIGINT and SIGTERM as an event: a flag, a wait, and a callback, all from a thread of its own.
// Nothing of ours runs in a signal handler.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "common/base/mutex.h"
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
  // Waits for the first signal; its number.
  [[nodiscard]] int Wait();

  // While `at_once`, the first signal ends the process with code 0: there is nothing to finish,
  // such as in a server before it serves. At first it is not so. A signal that came before counts.
  void EndAtOnce(bool at_once);

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
  Mutex mutex_;
  CondVar arrived_;
  bool end_at_once_ HG_GUARDED_BY(mutex_) = false;
  int signal_ HG_GUARDED_BY(mutex_) = 0;
  std::function<void()> callback_ HG_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace halograph
