// What a program tells the service manager that started it (systemd's Type=notify, or another that
// sets NOTIFY_SOCKET): that it is ready, what it does, that it lives, that it stops. Each is one
// datagram to the socket that the variable names. Where it is not set, nothing is sent.
//
// Thread-safe. Nothing here waits: a manager that takes no more datagrams loses them, except that
// it is ready, which is said again with the next of them.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "common/base/status.h"

namespace halograph {

class ServiceNotice {
 public:
  // The longest name of a socket in bytes, with its first '/' or '@': what a socket's address
  // holds.
  static constexpr size_t kLongestSocket = 107;

  // Of this process's environment, which nobody may change meanwhile. A NOTIFY_SOCKET that cannot
  // be used is one warning in the log, and nothing is sent.
  [[nodiscard]] static std::unique_ptr<ServiceNotice> OfEnvironment();
  // `socket`: a path from '/' on, or a name in the abstract space after '@'; empty: nothing is ever
  // sent. InvalidArgument: it is neither, or longer than kLongestSocket. Internal: the system gives
  // no socket. Whether somebody listens there shows when something is sent.
  [[nodiscard]] static StatusOr<std::unique_ptr<ServiceNotice>> Open(
      const std::string& socket, std::chrono::nanoseconds watchdog);
  ~ServiceNotice();
  ServiceNotice(const ServiceNotice&) = delete;
  ServiceNotice& operator=(const ServiceNotice&) = delete;

  // `status` is a text for people, such as `systemctl status` shows; what does not print in it is
  // escaped.
  void Doing(std::string_view status);
  void Ready(std::string_view status);
  void Stopping(std::string_view status);
  // It lives. Call it twice in each watchdog(), at least.
  void Alive();

  // How long the manager waits for Alive before it ends the program; 0: it does not ask for it.
  [[nodiscard]] std::chrono::nanoseconds watchdog() const { return watchdog_; }

 private:
  ServiceNotice(std::string socket, int fd, std::chrono::nanoseconds watchdog)
      : socket_(std::move(socket)), fd_(fd), watchdog_(watchdog) {}
  // Whether the manager has it.
  bool Send(const std::string& message);

  const std::string socket_;
  const int fd_;  // -1: nothing is sent
  const std::chrono::nanoseconds watchdog_;
  std::atomic<bool> ready_lost_{false};
  std::atomic<bool> told_{false};  // that something was lost
};

// What WATCHDOG_USEC and WATCHDOG_PID ask of process `self`: microseconds, and of whom (of all that
// read it, where that is not set). 0: nothing, or what is no positive number.
[[nodiscard]] std::chrono::nanoseconds WatchdogAskedFor(const std::optional<std::string>& usec,
                                                        const std::optional<std::string>& pid,
                                                        pid_t self);

}  // namespace halograph
