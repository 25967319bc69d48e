#include "common/http/listen_socket.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

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

}  // namespace

StatusOr<ListenSocket> Listen(const HostPort& address, int backlog) {
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
  ListenSocket socket;
  int error = 0;  // the first address's: it is what the name stands for
  for (const addrinfo* at = found; at != nullptr && socket.fd < 0; at = at->ai_next) {
    socket.fd = ListenAt(*at, backlog);
    if (socket.fd < 0 && error == 0) error = errno;
  }
  if (socket.fd < 0) return CannotListen(address, error);
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  if (getsockname(socket.fd, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    error = errno;
    close(socket.fd);
    return CannotListen(address, error);
  }
  socket.address = {address.host, PortOf(bound)};
  socket.at_loopback = IsLoopbackAddress(bound);
  return socket;
}

}  // namespace halograph
