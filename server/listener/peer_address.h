// Who connects to a server: the other end of a TCP connection, and ranges of such addresses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include "common/base/status.h"

namespace halograph::server {

// An IPv6 address in network order; an IPv4 one as ::ffff:a.b.c.d.
using AddressBytes = std::array<uint8_t, 16>;

struct PeerAddress {
  std::string name;  // as gRPC names it: "ipv4:127.0.0.1:7000", "ipv6:%5B::1%5D:7000"
  AddressBytes address{};
  bool loopback = false;
};

// nullopt: it is neither IPv4 nor IPv6.
[[nodiscard]] std::optional<PeerAddress> ToPeerAddress(const sockaddr_storage& end);

// The addresses that one host may choose from, as one: of IPv6 the first 64 bits, of IPv4 the
// whole.
[[nodiscard]] AddressBytes GroupOf(const AddressBytes& address);

// A set of addresses, given as ranges. Immutable.
class AddressRanges {
 public:
  // None at all.
  AddressRanges() = default;
  // "10.0.0.0/8", "fd00::/8", "10.0.0.7" (that one alone), blanks around them.
  //   InvalidArgument  it is none; it has bits below its length: names the text and what to write
  [[nodiscard]] static StatusOr<AddressRanges> Parse(std::span<const std::string> texts);

  [[nodiscard]] bool Contains(const AddressBytes& address) const;

 private:
  struct Range {
    AddressBytes first{};
    int bits = 0;  // of 128
  };
  [[nodiscard]] static StatusOr<Range> ParseOne(std::string_view text);

  std::vector<Range> ranges_;
};

}  // namespace halograph::server
