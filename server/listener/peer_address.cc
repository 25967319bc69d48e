#include "server/listener/peer_address.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include "common/base/printable.h"

namespace halograph::server {
namespace {

constexpr int kMappedBits = 96;  // what stands before an IPv4 address
constexpr int kAddressBits = 128;

AddressBytes Mapped(const void* ipv4) {
  AddressBytes address{};
  address[10] = address[11] = 0xff;
  std::memcpy(&address[12], ipv4, 4);
  return address;
}

bool IsMapped(const AddressBytes& address) {
  return IN6_IS_ADDR_V4MAPPED(reinterpret_cast<const in6_addr*>(address.data())) != 0;
}

bool IsLoopbackAddress(const AddressBytes& address) {
  if (IsMapped(address)) return address[12] == IN_LOOPBACKNET;
  return IN6_IS_ADDR_LOOPBACK(reinterpret_cast<const in6_addr*>(address.data())) != 0;
}

std::string Text(const AddressBytes& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (IsMapped(address)) {
    inet_ntop(AF_INET, &address[12], text, sizeof(text));
  } else {
    inet_ntop(AF_INET6, address.data(), text, sizeof(text));
  }
  return text;
}

// The bits of `address` from `bits` on are 0.
AddressBytes FirstOf(AddressBytes address, int bits) {
  for (int bit = bits; bit < kAddressBits; ++bit) {
    address[static_cast<size_t>(bit / 8)] &= static_cast<uint8_t>(~(0x80 >> (bit % 8)));
  }
  return address;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<PeerAddress> ToPeerAddress(const sockaddr_storage& end) {
  PeerAddress peer;
  int port = 0;
  uint32_t zone = 0;
  if (end.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(end);
    peer.address = Mapped(&ipv4.sin_addr);
    port = ntohs(ipv4.sin_port);
  } else if (end.ss_family == AF_INET6) {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(end);
    std::memcpy(peer.address.data(), &ipv6.sin6_addr, peer.address.size());
    port = ntohs(ipv6.sin6_port);
    zone = ipv6.sin6_scope_id;
  } else {
    return std::nullopt;
  }
  peer.loopback = IsLoopbackAddress(peer.address);
  if (IsMapped(peer.address)) {
    peer.name = fmt::format("ipv4:{}:{}", Text(peer.address), port);
  } else if (zone == 0) {
    peer.name = fmt::format("ipv6:%5B{}%5D:{}", Text(peer.address), port);
  } else {
    peer.name = fmt::format("ipv6:%5B{}%25{}%5D:{}", Text(peer.address), zone, port);
  }
  return peer;
}

StatusOr<AddressRanges::Range> AddressRanges::ParseOne(std::string_view text) {
  const std::string_view whole = Trimmed(text);
  const size_t slash = whole.find('/');
  const std::string host(whole.substr(0, slash));
  Range range;
  in_addr ipv4{};
  int before = 0;
  if (inet_pton(AF_INET, host.c_str(), &ipv4) == 1) {
    range.first = Mapped(&ipv4);
    before = kMappedBits;
  } else if (inet_pton(AF_INET6, host.c_str(), range.first.data()) != 1) {
    return InvalidArgument(
        "'{}' is no range of addresses: give ADDRESS or ADDRESS/BITS, such as 10.0.0.0/8",
        Printable(whole, kNameShown));
  }
  int bits = kAddressBits - before;
  if (slash != std::string_view::npos) {
    const std::string_view number = whole.substr(slash + 1);
    const char* const end = number.data() + number.size();
    const auto [read, error] = std::from_chars(number.data(), end, bits);
    if (error != std::errc() || read != end || bits < 0 || bits > kAddressBits - before) {
      return InvalidArgument("'{}' has no length from 0 to {} behind its '/'",
                             Printable(whole, kNameShown), kAddressBits - before);
    }
  }
  range.bits = before + bits;
  const AddressBytes first = FirstOf(range.first, range.bits);
  if (first != range.first) {
    return InvalidArgument(
        "'{}' has bits behind the first {}: write {}/{} for the range, {} for it alone",
        Printable(whole, kNameShown), bits, Text(first), bits, host);
  }
  return range;
}

AddressBytes GroupOf(const AddressBytes& address) {
  return IsMapped(address) ? address : FirstOf(address, kAddressBits / 2);
}

StatusOr<AddressRanges> AddressRanges::Parse(std::span<const std::string> texts) {
  AddressRanges ranges;
  for (const std::string& text : texts) {
    HG_ASSIGN_OR_RETURN(ranges.ranges_.emplace_back(), ParseOne(text));
  }
  return ranges;
}

bool AddressRanges::Contains(const AddressBytes& address) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return FirstOf(address, range.bits) == range.first;
  });
}

}  // namespace halograph::server
