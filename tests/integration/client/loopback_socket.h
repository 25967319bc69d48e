// A bound TCP socket on loopback that nobody serves: connections are refused, or accepted by the
// kernel and never answered.
#pragma once

#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace halograph {

class LoopbackSocket {
 public:
  enum class Kind { kRefuses, kAcceptsAndNeverAnswers };

  explicit LoopbackSocket(Kind kind) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd_, generic, size), 0);
    EXPECT_EQ(getsockname(fd_, generic, &size), 0);
    if (kind == Kind::kAcceptsAndNeverAnswers) {
      EXPECT_EQ(listen(fd_, 16), 0);
    }
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~LoopbackSocket() { close(fd_); }
  LoopbackSocket(const LoopbackSocket&) = delete;
  LoopbackSocket& operator=(const LoopbackSocket&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }

 private:
  const int fd_;
  std::string address_;
};

}  // namespace halograph
