// METIS takes SIGTERM for an error of its own: it jumps out of whatever it was doing, memory
// allocation included, and returns. While this lives, SIGTERM ends the process instead, as it does
// at any other time.
#pragma once

#include <atomic>
#include <thread>

#include <signal.h>

namespace halograph {

// Of the thread that calls METIS, around the call. Where SIGTERM is ignored or handled by the
// program it is only kept from the thread, until this is gone.
class TerminationGuard {
 public:
  TerminationGuard();
  ~TerminationGuard();
  TerminationGuard(const TerminationGuard&) = delete;
  TerminationGuard& operator=(const TerminationGuard&) = delete;

 private:
  void Watch();

  sigset_t before_{};
  std::atomic<bool> over_{false};
  std::thread watcher_;
};

}  // namespace halograph
