// A client of a test's own: a socket, and what is sent and read as it is. Nothing here waits longer
// than kPatience, after which a read says that nothing came.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/host_port.h"

namespace halograph {

struct RawReply {
  int status = 0;  // 0: there was none
  std::multimap<std::string, std::string> headers;
  std::string body;
  std::string all;  // as it came

  [[nodiscard]] std::string Header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "(none)" : found->second;
  }
};

inline RawReply ParseReply(std::string all) {
  RawReply reply;
  const size_t end = all.find("\r\n\r\n");
  if (all.rfind("HTTP/1.", 0) == 0 && end != std::string::npos) {
    reply.status = std::stoi(all.substr(9, 3));
    for (size_t at = all.find("\r\n") + 2; at < end + 2;) {
      const size_t next = all.find("\r\n", at);
      const size_t colon = all.find(": ", at);
      reply.headers.emplace(all.substr(at, colon - at), all.substr(colon + 2, next - colon - 2));
      at = next + 2;
    }
    reply.body = all.substr(end + 4);
  }
  reply.all = std::move(all);
  return reply;
}

class RawClient {
 public:
  // Connects to HOST:PORT of an address (not a name).
  explicit RawClient(const std::string& address) {
    const StatusOr<HostPort> to = ParseHostPort(address);
    EXPECT_TRUE(to.ok()) << address;
    if (!to.ok()) return;
    sockaddr_in6 ipv6{};
    sockaddr_in ipv4{};
    const bool is_ipv6 = inet_pton(AF_INET6, to->host.c_str(), &ipv6.sin6_addr) == 1;
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(static_cast<uint16_t>(to->port));
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = ipv6.sin6_port;
    inet_pton(AF_INET, to->host.c_str(), &ipv4.sin_addr);
    fd_ = socket(is_ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{kPatience, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    const int done = is_ipv6 ? connect(fd_, reinterpret_cast<sockaddr*>(&ipv6), sizeof(ipv6))
                             : connect(fd_, reinterpret_cast<sockaddr*>(&ipv4), sizeof(ipv4));
    EXPECT_EQ(done, 0) << address;
  }
  ~RawClient() {
    if (fd_ >= 0) close(fd_);
  }
  RawClient(RawClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // False: the other side has closed it.
  bool Send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // All that comes until the other side closes the connection.
  [[nodiscard]] std::string ReadAll() const {
    std::string all(1 << 16, '\0');
    size_t size = 0;
    while (true) {
      if (all.size() - size < (1 << 16)) all.resize(2 * all.size());
      const ssize_t got = recv(fd_, all.data() + size, all.size() - size, 0);
      if (got > 0) size += static_cast<size_t>(got);
      if (got == 0 || (got < 0 && errno == ECONNRESET)) break;
      if (got < 0) {
        ADD_FAILURE() << "nothing came, and the connection stays open: errno " << errno;
        break;
      }
    }
    all.resize(size);
    return all;
  }
  // The first bytes that come.
  [[nodiscard]] std::string ReadSome() const {
    std::string some(1 << 10, '\0');
    const ssize_t got = recv(fd_, some.data(), some.size(), 0);
    some.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return some;
  }

 private:
  static constexpr int kPatience = 120;  // seconds
  int fd_ = -1;
};

inline RawReply Ask(const std::string& address, const std::string& request) {
  const RawClient client(address);
  client.Send(request);
  return ParseReply(client.ReadAll());
}

// `headers`: further ones, each with its line end. Host is the address.
inline RawReply Get(const std::string& address, const std::string& target,
                    const std::string& headers = "", const std::string& method = "GET") {
  return Ask(address,
             method + " " + target + " HTTP/1.1\r\nHost: " + address + "\r\n" + headers + "\r\n");
}

}  // namespace halograph
