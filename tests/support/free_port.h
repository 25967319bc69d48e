// A port for a test's own processes to meet at.
#pragma once

#include <cstdint>
#include <random>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace halograph {

// A loopback port that was free just now, at random and below those that the system gives to
// connections of other tests; 0 if a hundred were taken.
inline int FreePort() {
  std::random_device draw;
  std::uniform_int_distribution<int> any(20000, 32000);
  for (int tries = 0; tries < 100; ++tries) {
    const int port = any(draw);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(fd);
    if (bound) return port;
  }
  return 0;
}

}  // namespace halograph
