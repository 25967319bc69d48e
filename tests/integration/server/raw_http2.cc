#include "tests/integration/server/raw_http2.h"

#include <array>
#include <cerrno>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace halograph::server {
namespace {

// A length behind a prefix of seven bits.
std::string Length(size_t length) {
  if (length < 127) return {static_cast<char>(length)};
  std::string text = "\x7f";
  for (length -= 127; length > 127; length >>= 7) text += static_cast<char>(length | 0x80);
  return text + static_cast<char>(length);
}

std::string Number(uint32_t number, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text += static_cast<char>(number >> shift);
  }
  return text;
}

}  // namespace

std::string Frame(FrameKind kind, uint8_t flags, uint32_t stream, std::string_view payload) {
  return Number(static_cast<uint32_t>(payload.size()), 3) + static_cast<char>(kind) +
         static_cast<char>(flags) + Number(stream, 4) + std::string(payload);
}

HeaderFields CallFields(const std::string& path) {
  return {{":method", "POST"},
          {":scheme", "http"},
          {":path", path},
          {":authority", "test"},
          {"content-type", "application/grpc"},
          {"te", "trailers"}};
}

std::string HeaderBlock(const HeaderFields& fields, bool into_table) {
  std::string block;
  for (const auto& [name, value] : fields) {
    block += into_table ? '\x40' : '\0';
    block += Length(name.size()) + name + Length(value.size()) + value;
  }
  return block;
}

std::string TableBlock(size_t count) {
  constexpr size_t kFirstOfTable = 62;
  std::string block;
  for (size_t i = count; i > 0; --i) block += static_cast<char>(0x80 | (kFirstOfTable + i - 1));
  return block;
}

std::string RawConnection::Preface() {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(FrameKind::kSettings, 0, 0);
}

RawConnection::RawConnection(int port, const std::string& from)
    : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, from.c_str(), &address.sin_addr);
  static_cast<void>(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  static_cast<void>(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
}

RawConnection::~RawConnection() { close(fd_); }

bool RawConnection::Send(std::string_view bytes) {
  constexpr int kTries = 10;
  constexpr int kTryMs = 10;
  if (unsent_.empty()) unsent_ = bytes;
  for (int i = 0; i < kTries; ++i) {
    std::array<char, 65536> answer;
    const ssize_t read = recv(fd_, answer.data(), answer.size(), MSG_DONTWAIT);
    if (read == 0 || (read < 0 && errno != EAGAIN)) return false;
    if (!unsent_.empty()) {
      const ssize_t sent = send(fd_, unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) return false;
      if (sent > 0) unsent_.erase(0, static_cast<size_t>(sent));
      if (unsent_.empty() && !bytes.empty()) return true;
    }
    pollfd one{fd_, static_cast<short>(POLLIN | (unsent_.empty() ? 0 : POLLOUT)), 0};
    poll(&one, 1, kTryMs);
  }
  return true;
}

}  // namespace halograph::server
