#include "partitioner/methods/metis/termination_guard.h"

#include <pthread.h>
#include <unistd.h>

namespace halograph {
namespace {

sigset_t OnlyTermination() {
  sigset_t set{};
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

TerminationGuard::TerminationGuard() {
  const sigset_t termination = OnlyTermination();
  ::pthread_sigmask(SIG_BLOCK, &termination, &before_);
  struct sigaction action {};
  const bool ends = ::sigaction(SIGTERM, nullptr, &action) == 0 &&
                    (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
  if (ends) watcher_ = std::thread([this] { Watch(); });
}

TerminationGuard::~TerminationGuard() {
  over_ = true;
  if (watcher_.joinable()) {
    ::pthread_kill(watcher_.native_handle(), SIGTERM);
    watcher_.join();
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

// The signal stays blocked in this thread too, so that it waits for it and METIS' handler, which
// belongs to the process, never runs.
void TerminationGuard::Watch() {
  const sigset_t termination = OnlyTermination();
  int signal = 0;
  ::sigwait(&termination, &signal);
  if (over_) return;
  ::signal(SIGTERM, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &termination, nullptr);
  ::raise(SIGTERM);
}

}  // namespace halograph
