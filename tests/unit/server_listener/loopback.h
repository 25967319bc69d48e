// TCP at loopback: a socket that listens, and clients of it. Test use.
#pragma once

#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace halograph::server {

// Listens at 127.0.0.1, does not block, and is not closed here.
struct ListeningSocket {
  ListeningSocket() : fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(fd, 128), 0);
    EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
  }
  int fd;
  int port = 0;
};

class LoopbackClient {
 public:
  // Connects to 127.0.0.1 from `from`, an address of loopback.
  explicit LoopbackClient(int port, const char* from = "127.0.0.1")
      : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, from, &address.sin_addr);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd_, generic, size), 0);
    EXPECT_EQ(getsockname(fd_, generic, &size), 0);
    name_ = std::string("ipv4:") + from + ":" + std::to_string(ntohs(address.sin_port));
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, generic, size), 0);
  }
  LoopbackClient(LoopbackClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), name_(std::move(other.name_)) {}
  LoopbackClient& operator=(LoopbackClient&&) = delete;
  ~LoopbackClient() { Close(); }

  [[nodiscard]] const std::string& name() const { return name_; }  // as gRPC names it
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  void Send(size_t bytes) const {
    const std::string text(bytes, 'x');
    EXPECT_EQ(send(fd_, text.data(), bytes, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
  }
  // Waits until the server has sent a byte, or closed it.
  [[nodiscard]] bool IsClosed() const {
    char byte = 0;
    return recv(fd_, &byte, 1, 0) <= 0;
  }

 private:
  int fd_;
  std::string name_;
};

}  // namespace halograph::server
