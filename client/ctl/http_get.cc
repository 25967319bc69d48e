#include "client/ctl/http_get.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/printable.h"

namespace halograph::ctl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostHeaderBytes = 64 << 10;
constexpr size_t kMostTokenBytes = 4096;

// An open connection, closed at its end.
class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }
  Connection(Connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Connection& operator=(Connection&&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

Status WaitFor(int fd, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return DeadlineExceeded("no answer in time");
    pollfd polled{.fd = fd, .events = events, .revents = 0};
    const int ready = poll(&polled, 1, static_cast<int>(std::min<int64_t>(left, 60000)));
    if (ready > 0) return OkStatus();
    if (ready < 0 && errno != EINTR) return ErrnoStatus(errno, "poll", "a connection");
  }
}

StatusOr<Connection> ConnectTo(const SocketAddress& address, Clock::time_point deadline) {
  Connection connection(
      socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (connection.fd() < 0) return ErrnoStatus(errno, "open", "a socket");
  if (connect(connection.fd(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) ==
      0) {
    return connection;
  }
  if (errno != EINPROGRESS) return Unavailable("{}", std::strerror(errno));
  HG_RETURN_IF_ERROR(WaitFor(connection.fd(), POLLOUT, deadline));
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(connection.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return Unavailable("{}", std::strerror(error));
  return connection;
}

// To the first of them that takes it. One that says nothing leaves the others their share of the
// time.
StatusOr<Connection> Connect(const HostAddresses& addresses, Clock::time_point deadline) {
  Status failed = Unavailable("no address");
  auto left = static_cast<int64_t>(addresses.size());
  for (const SocketAddress& address : addresses) {
    const Clock::time_point now = Clock::now();
    StatusOr<Connection> connection = ConnectTo(address, now + (deadline - now) / left--);
    if (connection.ok()) return connection;
    failed = connection.status();
  }
  return failed;
}

Status SendAll(int fd, std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
      HG_RETURN_IF_ERROR(WaitFor(fd, POLLOUT, deadline));
    } else {
      return Unavailable("the connection ended: {}", std::strerror(errno));
    }
  }
  return OkStatus();
}

StatusOr<std::string> ReceiveAll(int fd, Clock::time_point deadline) {
  std::string bytes;
  std::array<char, 64 << 10> piece{};
  for (;;) {
    const ssize_t got = recv(fd, piece.data(), piece.size(), 0);
    if (got == 0) return bytes;
    if (got > 0) {
      bytes.append(piece.data(), static_cast<size_t>(got));
      if (bytes.size() > kMostPageBytes + kMostHeaderBytes) {
        return ResourceExhausted("more than {} bytes", kMostPageBytes);
      }
      // A peer that sends a little for ever does not keep this for ever.
      if (Clock::now() > deadline) return DeadlineExceeded("not all of the answer came in time");
    } else if (errno == EAGAIN || errno == EINTR) {
      HG_RETURN_IF_ERROR(WaitFor(fd, POLLIN, deadline));
    } else {
      return Unavailable("the connection ended: {}", std::strerror(errno));
    }
  }
}

bool EqualsIgnoringCase(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return lower(a) == lower(b);
  });
}

// The bytes that a header says the body has.
std::optional<size_t> LengthIn(std::string_view header) {
  for (size_t begin = 0; begin < header.size();) {
    const size_t end = std::min(header.find("\r\n", begin), header.size());
    const std::string_view line = header.substr(begin, end - begin);
    begin = end + 2;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos ||
        !EqualsIgnoringCase(line.substr(0, colon), "content-length")) {
      continue;
    }
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    size_t length = 0;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (error == std::errc()) return length;
  }
  return {};
}

StatusOr<std::string> BodyOf(const std::string& answer) {
  const size_t end = answer.find("\r\n\r\n");
  // "HTTP/1.1 200 OK"
  constexpr size_t kCodeAt = 9;
  constexpr size_t kCodeLength = 3;
  if (!answer.starts_with("HTTP/1.") || end == std::string::npos || end > kMostHeaderBytes ||
      end < kCodeAt + kCodeLength) {
    return DataLoss("what answers does not speak HTTP");
  }
  const std::string code = answer.substr(kCodeAt, kCodeLength);
  std::string body = answer.substr(end + 4);
  const std::optional<size_t> length = LengthIn(std::string_view(answer).substr(0, end));
  if (length && body.size() < *length) {
    return Unavailable("the connection ended after {} of {} bytes", body.size(), *length);
  }
  if (length) body.resize(*length);
  if (code == "200") return body;
  const std::string said = Printable(body.substr(0, body.find('\n')), kMessageShown);
  if (code == "401" || code == "403") {
    return FailedPrecondition("{}: {} (--trainer-token-file has the token to show)", code, said);
  }
  if (code == "404") return NotFound("{}: {}", code, said);
  return DataLoss("HTTP status {}: {}", Printable(code, kCodeLength), said);
}

}  // namespace

Status TryToConnect(const HostAddresses& addresses, std::chrono::nanoseconds timeout) {
  return Connect(addresses, Clock::now() + timeout).status();
}

StatusOr<std::string> HttpGet(const HostPort& address, const std::string& path,
                              const std::string& token, std::chrono::nanoseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  HG_ASSIGN_OR_RETURN(const HostAddresses addresses, LookUp(address, deadline));
  HG_ASSIGN_OR_RETURN(const Connection connection, Connect(addresses, deadline));
  std::string request =
      fmt::format("GET {} HTTP/1.0\r\nHost: {}\r\nConnection: close\r\n", path, ToString(address));
  if (!token.empty()) request += fmt::format("Authorization: Bearer {}\r\n", token);
  HG_RETURN_IF_ERROR(SendAll(connection.fd(), request + "\r\n", deadline));
  HG_ASSIGN_OR_RETURN(const std::string answer, ReceiveAll(connection.fd(), deadline));
  return BodyOf(answer);
}

StatusOr<std::string> ReadBearerToken(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return InvalidArgument("{} cannot be read: {}", path.string(), std::strerror(errno));
  std::string token(kMostTokenBytes + 1, '\0');
  file.read(token.data(), static_cast<std::streamsize>(token.size()));
  token.resize(static_cast<size_t>(file.gcount()));
  if (token.size() > kMostTokenBytes) {
    return InvalidArgument("{} is no token: it has more than {} bytes", path.string(),
                           kMostTokenBytes);
  }
  token.resize(std::min(token.find('\n'), token.size()));
  while (!token.empty() && (token.back() == ' ' || token.back() == '\r')) token.pop_back();
  token.erase(0, std::min(token.find_first_not_of(' '), token.size()));
  if (token.empty() ||
      !std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; })) {
    return InvalidArgument("{} has no token in its first line: visible ASCII without blanks",
                           path.string());
  }
  return token;
}

}  // namespace halograph::ctl
