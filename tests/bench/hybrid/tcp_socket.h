// The few calls on IPv4 TCP sockets that the delaying proxy and its check need.
#pragma once

#include <string>

#include "common/base/status.h"

namespace halograph {

// Closes its descriptor at the end.
class TcpSocket {
 public:
  explicit TcpSocket(int fd = -1) : fd_(fd) {}
  ~TcpSocket();
  TcpSocket(TcpSocket&& other) noexcept : fd_(other.Release()) {}
  TcpSocket& operator=(TcpSocket&&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] int Release();
  // Ends both directions; calls that block on it return.
  void Shutdown() const;

 private:
  int fd_;
};

// `address`: HOST:PORT in numbers. InvalidArgument if it is not; else as ErrnoStatus.
[[nodiscard]] StatusOr<TcpSocket> Listen(const std::string& address);
[[nodiscard]] StatusOr<TcpSocket> Connect(const std::string& address);
// HOST:PORT that a socket is bound to.
[[nodiscard]] StatusOr<std::string> AddressOf(const TcpSocket& socket);

}  // namespace halograph
