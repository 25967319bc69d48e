#include "common/program/service_notice.h"

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/printable.h"

namespace halograph {
namespace {

static_assert(ServiceNotice::kLongestSocket + 1 == sizeof(sockaddr_un::sun_path));

std::optional<std::string> Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::optional<int64_t> PositiveNumber(const std::string& text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || value <= 0) return std::nullopt;
  return value;
}

}  // namespace

std::chrono::nanoseconds WatchdogAskedFor(const std::optional<std::string>& usec,
                                          const std::optional<std::string>& pid, pid_t self) {
  constexpr int64_t kMost = INT64_MAX / 1000;  // in nanoseconds it fits
  if (!usec.has_value()) return {};
  if (pid.has_value() && PositiveNumber(*pid) != int64_t{self}) return {};
  const std::optional<int64_t> asked = PositiveNumber(*usec);
  if (!asked.has_value() || *asked > kMost) return {};
  return std::chrono::microseconds(*asked);
}

std::unique_ptr<ServiceNotice> ServiceNotice::OfEnvironment() {
  const std::string socket = Variable("NOTIFY_SOCKET").value_or("");
  StatusOr<std::unique_ptr<ServiceNotice>> notice =
      Open(socket, WatchdogAskedFor(Variable("WATCHDOG_USEC"), Variable("WATCHDOG_PID"), getpid()));
  if (notice.ok()) return *std::move(notice);
  spdlog::warn("{}; the service manager is told nothing", Message(notice.status()));
  return std::unique_ptr<ServiceNotice>(new ServiceNotice("", -1, {}));
}

StatusOr<std::unique_ptr<ServiceNotice>> ServiceNotice::Open(const std::string& socket,
                                                             std::chrono::nanoseconds watchdog) {
  if (socket.empty()) return std::unique_ptr<ServiceNotice>(new ServiceNotice("", -1, {}));
  if (socket.size() > kLongestSocket) {
    return InvalidArgument("NOTIFY_SOCKET has {} bytes, and a socket's name at most {}: '{}'",
                           socket.size(), kLongestSocket, Printable(socket, kLongestSocket));
  }
  if ((socket[0] != '/' && socket[0] != '@') || socket.size() < 2) {
    return InvalidArgument("NOTIFY_SOCKET is '{}', expected a path from / on, or @ and a name",
                           Printable(socket, kLongestSocket));
  }
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Internal("no socket for NOTIFY_SOCKET: {}", std::strerror(errno));
  return std::unique_ptr<ServiceNotice>(new ServiceNotice(socket, fd, watchdog));
}

ServiceNotice::~ServiceNotice() {
  if (fd_ >= 0) close(fd_);
}

void ServiceNotice::Doing(std::string_view status) {
  Send(fmt::format("STATUS={}", Printable(status, kMessageShown)));
}

void ServiceNotice::Ready(std::string_view status) {
  ready_lost_ = !Send(fmt::format("READY=1\nSTATUS={}", Printable(status, kMessageShown)));
}

void ServiceNotice::Stopping(std::string_view status) {
  ready_lost_ = false;  // it is over
  Send(fmt::format("STOPPING=1\nSTATUS={}", Printable(status, kMessageShown)));
}

void ServiceNotice::Alive() {
  if (!ready_lost_.exchange(false)) {
    Send("WATCHDOG=1");
  } else if (!Send("READY=1\nWATCHDOG=1")) {
    ready_lost_ = true;
  }
}

bool ServiceNotice::Send(const std::string& message) {
  if (fd_ < 0) return true;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  socklen_t bytes = offsetof(sockaddr_un, sun_path) + socket_.size();
  if (socket_[0] == '@') {
    address.sun_path[0] = '\0';  // of the abstract space: its name has a length, and no end
  } else {
    ++bytes;  // with the end of the path
  }
  const ssize_t sent = sendto(fd_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), bytes);
  if (sent >= 0) return true;
  const int error = errno;
  if (!told_.exchange(true)) {
    spdlog::warn("the service manager was not told '{}' at NOTIFY_SOCKET {}: {}",
                 Printable(message, kMessageShown), Printable(socket_, kLongestSocket),
                 std::strerror(error));
  }
  return false;
}

}  // namespace halograph
