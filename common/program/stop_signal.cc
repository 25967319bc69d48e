#include "common/program/stop_signal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/units.h"

namespace halograph {
namespace {

std::string_view NameOf(int signal) {
  if (signal == SIGHUP) return "SIGHUP";
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

// What the handler below writes: it may neither allocate nor lock.
std::array<char, 256> too_long;
std::atomic<size_t> too_long_size = 0;

void WriteTooLong(std::string_view program, std::chrono::nanoseconds timeout) {
  const std::string line = fmt::format(
      "{}{}stopping took longer than {} (--stop-timeout): ended without finishing\n", program,
      program.empty() ? "" : ": ", FormatSeconds(std::chrono::duration<double>(timeout).count()));
  too_long_size = std::min(line.size(), too_long.size());
  std::copy_n(line.begin(), too_long_size.load(), too_long.begin());
}

void EndTooLongStop(int /*signal*/) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, too_long.data(), too_long_size);
  _exit(1);
}

// The process ends so long from now; 0: it does not.
void EndAfter(std::chrono::nanoseconds timeout) {
  using std::chrono::microseconds;
  const int64_t us = std::chrono::duration_cast<microseconds>(timeout).count();
  itimerval timer{};
  timer.it_value.tv_sec = us / 1'000'000;
  timer.it_value.tv_usec = us % 1'000'000;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

bool IsIgnored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (!IsIgnored(SIGHUP)) sigaddset(&signals, SIGHUP);
  return signals;
}

}  // namespace

StatusOr<std::unique_ptr<StopSignal>> StopSignal::Install() {
  const sigset_t signals = StopSignals();
  if (const int error = pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    return ErrnoStatus(error, "blocking", "SIGINT and SIGTERM");
  }
  struct sigaction too_late {};
  too_late.sa_handler = EndTooLongStop;
  if (sigaction(SIGALRM, &too_late, nullptr) != 0) {
    return ErrnoStatus(errno, "handling", "SIGALRM");
  }
  WriteTooLong("", kTimeout);
  std::unique_ptr<StopSignal> stop(new StopSignal);
  stop->signal_fd_ = signalfd(-1, &signals, SFD_CLOEXEC);
  stop->end_fd_ = eventfd(0, EFD_CLOEXEC);
  if (stop->signal_fd_ < 0 || stop->end_fd_ < 0) return ErrnoStatus(errno, "opening", "signalfd");
  stop->Start();
  return stop;
}

void StopSignal::Start() {
  thread_ = std::thread([this] { Watch(); });
}

void StopSignal::End() {
  if (!thread_.joinable()) return;
  uint64_t count = 1;
  if (write(end_fd_, &count, sizeof(count)) != sizeof(count)) std::abort();
  thread_.join();
  if (read(end_fd_, &count, sizeof(count)) != sizeof(count)) std::abort();
}

StopSignal::~StopSignal() {
  EndAfter(std::chrono::nanoseconds(0));
  End();
  if (signal_fd_ >= 0) close(signal_fd_);
  if (end_fd_ >= 0) close(end_fd_);
}

int StopSignal::Wait() {
  const MutexLock lock(mutex_);
  arrived_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return signal_.load() != 0; });
  return signal_.load();
}

void StopSignal::SetTimeout(std::string_view program, std::chrono::nanoseconds timeout) {
  WriteTooLong(program, timeout);
  timeout_ = timeout;
}

void StopSignal::ExtendTimeout(std::chrono::nanoseconds more) { timeout_ = timeout_.load() + more; }

void StopSignal::EndAtOnce(bool at_once) {
  const MutexLock lock(mutex_);
  end_at_once_ = at_once;
  if (at_once && signal_.load() != 0) std::_Exit(0);
}

void StopSignal::OnStop(std::function<void()> callback) {
  const MutexLock lock(mutex_);
  callback_ = std::move(callback);
  if (requested_.load() && callback_) callback_();
}

pid_t StopSignal::Fork() {
  End();
  const pid_t child = fork();
  if (child == 0) {
    const sigset_t signals = StopSignals();
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  } else {
    Start();
  }
  return child;
}

void StopSignal::EndProcessBy(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  std::_Exit(128 + signal);  // not reached
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
  if (signal_.load() != 0) {
    spdlog::warn("{}: second signal, stopping immediately without finishing", NameOf(signal));
    std::_Exit(1);
  }
  // Before anything that may hang or need memory, and before anybody hears of the signal.
  EndAfter(timeout_);
  signal_.store(signal);
  requested_.store(true);
  const MutexLock lock(mutex_);
  if (end_at_once_) {
    spdlog::info("{}: stopped, nothing was under way", NameOf(signal));
    std::_Exit(0);
  }
  spdlog::warn("{}: stopping; {} again to stop immediately", NameOf(signal),
               signal == SIGINT ? "press Ctrl-C" : "send it");
  arrived_.NotifyAll();
  if (callback_) callback_();
}

}  // namespace halograph
