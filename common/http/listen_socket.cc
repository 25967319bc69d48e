#include "common/http/listen_socket.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace halograph {
namespace {

void Switch(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof(value));
}

// A socket that listens there, or -1 with errno.
int ListenAt(const addrinfo& at, int backlog) {
  const int fd = socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  Switch(fd, SOL_SOCKET, SO_REUSEADDR, 1);  // connections that have ended do not keep the port
  if (at.ai_family == AF_INET6) Switch(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (bind(fd, at.ai_addr, at.ai_addrlen) == 0 && listen(fd, backlog) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

bool IsLoopbackAddress(const sockaddr_storage& bound) {
  if (bound.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(bound);
    return (ntohl(ipv4.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  const in6_addr& ipv6 = reinterpret_cast<const sockaddr_in6&>(bound).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&ipv6) != 0 ||
         (IN6_IS_ADDR_V4MAPPED(&ipv6) != 0 && ipv6.s6_addr[12] == IN_LOOPBACKNET);
}

int PortOf(const sockaddr_storage& bound) {
  return ntohs(bound.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(bound).sin_port
                                          : reinterpret_cast<const sockaddr_in6&>(bound).sin6_port);
}

void SetPort(sockaddr* address, int port) {
  const auto number = htons(static_cast<uint16_t>(port));
  if (address->sa_family == AF_INET) reinterpret_cast<sockaddr_in*>(address)->sin_port = number;
  if (address->sa_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(address)->sin6_port = number;
}

Status CannotListen(const HostPort& address, int error) {
  std::string_view advice;
  if (error == EADDRINUSE) {
    advice = " (EADDRINUSE): another program has the port; give another, or 0 for a free one";
  } else if (error == EADDRNOTAVAIL) {
    advice = " (EADDRNOTAVAIL): this machine has no such address";
  } else if (error == EACCES) {
    advice = " (EACCES): a port below 1024 takes a right that this user has not";
  }
  return FailedPrecondition("cannot listen at {}: {}{}", ToString(address), std::strerror(error),
                            advice);
}

// At the first `most` addresses of the host's that can be bound, at one port.
StatusOr<std::vector<ListenSocket>> ListenAtSome(const HostPort& address, int backlog,
                                                 size_t most) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int unknown =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &found);
  if (unknown != 0) {
    return FailedPrecondition("cannot listen at {}: {}", ToString(address), gai_strerror(unknown));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  std::vector<ListenSocket> sockets;
  int error = 0;  // the first address's: it is what the name stands for
  int port = address.port;
  for (const addrinfo* at = found; at != nullptr && sockets.size() < most; at = at->ai_next) {
    SetPort(at->ai_addr, port);
    const int fd = ListenAt(*at, backlog);
    sockaddr_storage bound{};
    socklen_t length = sizeof(bound);
    if (fd >= 0 && getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length) == 0) {
      port = PortOf(bound);
      sockets.push_back({fd, {address.host, port}, IsLoopbackAddress(bound)});
      continue;
    }
    if (error == 0) error = errno;
    if (fd >= 0) close(fd);
  }
  if (sockets.empty()) return CannotListen(address, error);
  return sockets;
}

}  // namespace

StatusOr<ListenSocket> Listen(const HostPort& address, int backlog) {
  HG_ASSIGN_OR_RETURN(const std::vector<ListenSocket> sockets,
                      ListenAtSome(address, backlog, /*most=*/1));
  return sockets.front();
}

StatusOr<std::vector<ListenSocket>> ListenAtAll(const HostPort& address, int backlog) {
  constexpr size_t kMost = 16;
  if (address.host == "0.0.0.0") {
    StatusOr<std::vector<ListenSocket>> both = ListenAtSome({"::", address.port}, backlog, 1);
    if (both.ok()) {
      both->front().address.host = address.host;
      return both;
    }
  }
  return ListenAtSome(address, backlog, kMost);
}

}  // namespace halograph
