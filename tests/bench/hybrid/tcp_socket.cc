#include "tests/bench/hybrid/tcp_socket.h"

#include <cerrno>
#include <utility>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/numbers.h"

namespace halograph {
namespace {

StatusOr<sockaddr_in> Parse(const std::string& address) {
  const size_t colon = address.rfind(':');
  sockaddr_in parsed{};
  parsed.sin_family = AF_INET;
  int port = 0;
  if (colon == std::string::npos ||
      ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &parsed.sin_addr) != 1 ||
      !absl::SimpleAtoi(ToAbsl(std::string_view(address).substr(colon + 1)), &port) || port < 0 ||
      port > 65535) {
    return InvalidArgument("'{}' is no IPv4 address and port, such as 10.0.0.1:7000", address);
  }
  parsed.sin_port = htons(static_cast<uint16_t>(port));
  return parsed;
}

StatusOr<TcpSocket> Open() {
  TcpSocket opened(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (opened.fd() < 0) return ErrnoStatus(errno, "socket", "");
  const int on = 1;
  ::setsockopt(opened.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(opened.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  return opened;
}

}  // namespace

TcpSocket::~TcpSocket() {
  if (fd_ >= 0) ::close(fd_);
}

int TcpSocket::Release() { return std::exchange(fd_, -1); }

void TcpSocket::Shutdown() const { ::shutdown(fd_, SHUT_RDWR); }

StatusOr<TcpSocket> Listen(const std::string& address) {
  HG_ASSIGN_OR_RETURN(const sockaddr_in parsed, Parse(address));
  HG_ASSIGN_OR_RETURN(TcpSocket opened, Open());
  if (::bind(opened.fd(), reinterpret_cast<const sockaddr*>(&parsed), sizeof(parsed)) != 0 ||
      ::listen(opened.fd(), SOMAXCONN) != 0) {
    return ErrnoStatus(errno, "listen on", address);
  }
  return opened;
}

StatusOr<TcpSocket> Connect(const std::string& address) {
  HG_ASSIGN_OR_RETURN(const sockaddr_in parsed, Parse(address));
  HG_ASSIGN_OR_RETURN(TcpSocket opened, Open());
  if (::connect(opened.fd(), reinterpret_cast<const sockaddr*>(&parsed), sizeof(parsed)) != 0) {
    return ErrnoStatus(errno, "connect to", address);
  }
  return opened;
}

StatusOr<std::string> AddressOf(const TcpSocket& socket) {
  sockaddr_in bound{};
  socklen_t length = sizeof(bound);
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return ErrnoStatus(errno, "getsockname", "");
  }
  char host[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &bound.sin_addr, host, sizeof(host));
  return fmt::format("{}:{}", host, ntohs(bound.sin_port));
}

}  // namespace halograph
