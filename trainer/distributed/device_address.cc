#include "trainer/distributed/device_address.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace halograph {

StatusOr<std::string> LocalAddressTowards(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int rc = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (rc != 0) {
    return Unavailable("--master-addr {}: cannot be resolved: {}", host, gai_strerror(rc));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  int error = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
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

}  // namespace halograph
