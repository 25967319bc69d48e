// HTTP/2 as bytes, and connections that send what no client of gRPC's would. Test use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halograph::server {

enum class FrameKind : uint8_t {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kContinuation = 9,
};
inline constexpr uint8_t kEndStream = 1;
inline constexpr uint8_t kEndHeaders = 4;

[[nodiscard]] std::string Frame(FrameKind kind, uint8_t flags, uint32_t stream,
                                std::string_view payload = {});

using HeaderFields = std::vector<std::pair<std::string, std::string>>;
// What a call of `path` begins with.
[[nodiscard]] HeaderFields CallFields(const std::string& path);
// The block of `fields`, each with its name and value: literals that enter no table, or the table
// of the connection.
[[nodiscard]] std::string HeaderBlock(const HeaderFields& fields, bool into_table = false);
// The block of the `count` fields that entered the table last, by their numbers.
[[nodiscard]] std::string TableBlock(size_t count);

// A connection. One thread.
class RawConnection {
 public:
  // Connects to this port of 127.0.0.1 from `from`, an address of loopback; waits for no answer.
  // A server that refuses has closed it.
  RawConnection(int port, const std::string& from);
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  // Sends the bytes, or, where those before are not all sent, more of these in their place: as much
  // as the server takes within a tenth of a second or so. Reads what it has sent. False: it has
  // closed the connection.
  [[nodiscard]] bool Send(std::string_view bytes);
  // What every connection begins with.
  [[nodiscard]] static std::string Preface();

 private:
  int fd_;
  std::string unsent_;
};

}  // namespace halograph::server
