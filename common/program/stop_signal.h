// SIGINT, SIGTERM and SIGHUP as an event: a flag, a wait, and a callback, all from a thread of its
// own. A stop that takes too long ends at once.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include <sys/types.h>

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace halograph {

// One at a time in a process, made before other threads start (they inherit the blocked signals)
// and living as long as they do. A second signal ends the process at once with code 1. SIGHUP is
// left alone where it is ignored, as nohup has it.
class StopSignal {
 public:
  static constexpr std::chrono::nanoseconds kTimeout = std::chrono::minutes(1);

  // Internal if the system refuses what is needed.
  [[nodiscard]] static StatusOr<std::unique_ptr<StopSignal>> Install();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] bool requested() const { return requested_.load(); }
  [[nodiscard]] const std::atomic<bool>* flag() const { return &requested_; }
  // Waits for the first signal; its number.
  [[nodiscard]] int Wait();
  // The number of the first signal; 0 before it came.
  [[nodiscard]] int number() const { return signal_.load(); }

  // How long after the first signal the process ends with code 1 and one line on stderr that names
  // --stop-timeout, whatever its threads do: a timer of the system sees to it, so that neither a
  // thread nor memory is needed. Until it is called: kTimeout. For what comes after it only.
  void SetTimeout(std::string_view program, std::chrono::nanoseconds timeout);
  // Adds what the program's own way to stop may take by its options.
  void ExtendTimeout(std::chrono::nanoseconds more);

  // While `at_once`, the first signal ends the process with code 0: there is nothing to finish,
  // such as in a server before it serves. At first it is not so. A signal that came before counts.
  void EndAtOnce(bool at_once);

  // What to do when a signal comes, from the signal thread; at once if one came already. Replaces
  // the callback before; empty for none. After it returns the old one does not run any more.
  void OnStop(std::function<void()> callback);

  // fork(), as of a process without the signal thread: no lock stays behind in the child that the
  // thread held, and the child may start threads. In the child, signals are what they were before
  // Install, and the object does nothing. A signal that comes meanwhile is handled in the parent.
  // Not while another thread uses the object.
  [[nodiscard]] pid_t Fork();

  // Ends the process by the signal, as it would have ended without Install: what waits for it, a
  // shell say, sees the signal. From any thread.
  [[noreturn]] static void EndProcessBy(int signal);

 private:
  StopSignal() = default;
  void Start();
  void End();
  void Watch();
  void Handle(int signal);

  int signal_fd_ = -1;
  int end_fd_ = -1;
  std::atomic<bool> requested_{false};
  Mutex mutex_;
  CondVar arrived_;
  std::atomic<std::chrono::nanoseconds> timeout_{kTimeout};
  bool end_at_once_ HG_GUARDED_BY(mutex_) = false;
  std::atomic<int> signal_{0};  // set before requested_
  std::function<void()> callback_ HG_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace halograph
