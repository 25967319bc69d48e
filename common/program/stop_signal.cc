#include "common/program/stop_signal.h"

#include <cerrno>
#include <cstdlib>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/base/log.h"

namespace halograph {
namespace {

std::string_view NameOf(int signal) { return signal == SIGINT ? "SIGINT" : "SIGTERM"; }

}  // namespace

StatusOr<std::unique_ptr<StopSignal>> StopSignal::Install() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (const int error = pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    return ErrnoStatus(error, "blocking", "SIGINT and SIGTERM");
  }
  std::unique_ptr<StopSignal> stop(new StopSignal);
  stop->signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC);
  stop->end_fd_ = eventfd(0, EFD_CLOEXEC);
  if (stop->signal_fd_ < 0 || stop->end_fd_ < 0) return ErrnoStatus(errno, "opening", "signalfd");
  stop->thread_ = std::thread([self = stop.get()] { self->Watch(); });
  return stop;
}

StopSignal::~StopSignal() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    if (write(end_fd_, &one, sizeof(one)) != sizeof(one)) std::abort();
    thread_.join();
  }
  if (signal_fd_ >= 0) close(signal_fd_);
  if (end_fd_ >= 0) close(end_fd_);
}

int StopSignal::Wait() {
  const MutexLock lock(mutex_);
  arrived_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return signal_ != 0; });
  return signal_;
}

void StopSignal::EndAtOnce(bool at_once) {
  const MutexLock lock(mutex_);
  end_at_once_ = at_once;
  if (at_once && signal_ != 0) std::_Exit(0);
}

void StopSignal::OnStop(std::function<void()> callback) {
  const MutexLock lock(mutex_);
  callback_ = std::move(callback);
  if (requested_.load() && callback_) callback_();
}

void StopSignal::Watch() {
  for (;;) {
    pollfd watched[] = {{signal_fd_, POLLIN, 0}, {end_fd_, POLLIN, 0}};
    if (poll(watched, 2, -1) < 0 && errno != EINTR) return;
    if ((watched[1].revents & POLLIN) != 0) return;
    signalfd_siginfo info{};
    if ((watched[0].revents & POLLIN) != 0 &&
        read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
      Handle(static_cast<int>(info.ssi_signo));
    }
  }
}

void StopSignal::Handle(int signal) {
  // Without the lock, which a callback may hold for long.
  if (requested_.exchange(true)) {
    spdlog::warn("{}: second signal, stopping immediately without finishing", NameOf(signal));
    std::_Exit(1);
  }
  const MutexLock lock(mutex_);
  if (end_at_once_) {
    spdlog::info("{}: stopped, nothing was under way", NameOf(signal));
    std::_Exit(0);
  }
  spdlog::warn("{}: stopping; {} again to stop immediately", NameOf(signal),
               signal == SIGINT ? "press Ctrl-C" : "send it");
  signal_ = signal;
  arrived_.NotifyAll();
  if (callback_) callback_();
}

}  // namespace halograph
