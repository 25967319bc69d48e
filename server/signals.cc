#include "server/signals.h"

#include <csignal>
#include <thread>

#include <unistd.h>

#include "common/base/log.h"

namespace halograph::server {

StopSignals::StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([this, set] {
    for (;;) {
      int signal = 0;
      if (sigwait(&set, &signal) == 0) Handle(signal);
    }
  }).detach();
}

void StopSignals::Arm() {
  std::lock_guard lock(mutex_);
  armed_ = true;
}

int StopSignals::Wait() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [&] { return signal_ != 0; });
  return signal_;
}

void StopSignals::Handle(int signal) {
  std::lock_guard lock(mutex_);
  if (!armed_) {
    spdlog::info("signal {} before serving: stopped", signal);
    _exit(0);
  }
  if (signal_ != 0) {
    spdlog::warn("second signal {}: ended without draining", signal);
    _exit(1);
  }
  signal_ = signal;
  arrived_.notify_all();
}

}  // namespace halograph::server
