#include "trainer/distributed/device_address.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace halograph {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

StatusOr<Addresses> Resolve(const std::string& host, int port, int socket_type) {
  addrinfo hints{};
  hints.ai_socktype = socket_type;
  addrinfo* found = nullptr;
  const int rc = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (rc != 0) {
    return Unavailable("--master-addr {}: cannot be resolved: {}", host, gai_strerror(rc));
  }
  return Addresses(found, freeaddrinfo);
}

// errno of connecting within `timeout`; 0 if that worked.
int ConnectError(int fd, const addrinfo& address, std::chrono::milliseconds timeout) {
  if (connect(fd, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waiting{fd, POLLOUT, 0};
  const int ready = poll(&waiting, 1, static_cast<int>(timeout.count()));
  if (ready == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof(error);
  if (ready < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

}  // namespace

StatusOr<std::string> LocalAddressTowards(const std::string& host, int port) {
  HG_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(host, port, SOCK_DGRAM));
  int error = 0;
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    const int fd = socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      error = errno;
      continue;
    }
    sockaddr_storage local{};
    socklen_t length = sizeof(local);
    char text[NI_MAXHOST] = "";
    const bool known = connect(fd, address->ai_addr, address->ai_addrlen) == 0 &&
                       getsockname(fd, reinterpret_cast<sockaddr*>(&local), &length) == 0;
    if (!known) error = errno;
    close(fd);
    if (known && getnameinfo(reinterpret_cast<sockaddr*>(&local), length, text, sizeof(text),
                             nullptr, 0, NI_NUMERICHOST) == 0) {
      return std::string(text);
    }
  }
  return Unavailable("--master-addr {}: cannot be reached: {}", host, std::strerror(error));
}

Status ProbeListener(const std::string& host, int port, std::chrono::milliseconds timeout) {
  HG_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(host, port, SOCK_STREAM));
  int error = 0;
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
      error = errno;
      continue;
    }
    error = ConnectError(fd, *address, timeout);
    close(fd);
    if (error == 0) return OkStatus();
  }
  return Unavailable("{}", std::strerror(error));
}

}  // namespace halograph
