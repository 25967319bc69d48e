#include "common/base/host_port.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace halograph {
namespace {

constexpr int kLargestPort = 65535;
constexpr std::string_view kBrackets = "an IPv6 address stands in brackets, [::1]:7000";

std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

bool IsIpv6(std::string_view host) {
  in6_addr address{};
  return inet_pton(AF_INET6, std::string(host.substr(0, host.find('%'))).c_str(), &address) == 1;
}

bool MayBeName(std::string_view host) {
  constexpr std::string_view kNoLetters = "[]/@,;'\"\\";
  return !host.empty() && std::all_of(host.begin(), host.end(), [&](unsigned char letter) {
    return letter > ' ' && letter != 0x7f &&
           kNoLetters.find(static_cast<char>(letter)) == std::string_view::npos;
  });
}

// The host without brackets; nullopt: it is none.
std::optional<std::string> ReadHost(std::string_view text) {
  const bool bracketed = text.starts_with('[') && text.ends_with(']');
  if (bracketed) text = text.substr(1, text.size() - 2);
  const bool ipv6 = bracketed || text.find(':') != std::string_view::npos;
  if (ipv6 ? !IsIpv6(text) : !MayBeName(text)) return std::nullopt;
  return std::string(text);
}

bool ReadPort(std::string_view text, int least, int* port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *port);
  return error == std::errc() && end == text.data() + text.size() && *port >= least &&
         *port <= kLargestPort && text.front() != '-';
}

enum class Ipv6 { kBracketed, kMayBeBare };

StatusOr<HostPort> Read(std::string_view given, int least_port, Ipv6 ipv6) {
  const std::string_view text = WithoutBlanks(given);
  const size_t colon = text.rfind(':');
  HostPort address;
  if (colon == std::string_view::npos || colon == 0 ||
      !ReadPort(text.substr(colon + 1), least_port, &address.port)) {
    return InvalidArgument("'{}' is not HOST:PORT with a port of {} to {}", text, least_port,
                           kLargestPort);
  }
  const std::string_view host_text = text.substr(0, colon);
  const bool bare = host_text.front() != '[' && host_text.find(':') != std::string_view::npos;
  std::optional<std::string> host = ReadHost(host_text);
  if (!host.has_value()) {
    return InvalidArgument(
        "'{}' is not HOST:PORT: '{}' is neither a host's name nor its address; {}", text, host_text,
        kBrackets);
  }
  if (bare && ipv6 == Ipv6::kBracketed) {
    return InvalidArgument("'{}' is not HOST:PORT: {}", text, kBrackets);
  }
  address.host = *std::move(host);
  return address;
}

}  // namespace

StatusOr<HostPort> ParseHostPort(std::string_view text) { return Read(text, 0, Ipv6::kBracketed); }

StatusOr<HostPort> ParseServerAddress(std::string_view text) {
  return Read(text, 1, Ipv6::kMayBeBare);
}

StatusOr<HostPort> ParseAdvertised(std::string_view given) {
  const std::string_view text = WithoutBlanks(given);
  if (IsIpv6(text)) {
    return InvalidArgument("'{}': an IPv6 address stands in brackets, [::1] or [::1]:7000", text);
  }
  const bool ends_with_host = text.ends_with(']') || text.find(':') == std::string_view::npos;
  HostPort address;
  if (ends_with_host) {
    HG_ASSIGN_OR_RETURN(address.host, ParseHost(text));
  } else {
    HG_ASSIGN_OR_RETURN(address, Read(text, 1, Ipv6::kBracketed));
  }
  if (!IsWildcard(address.host)) return address;
  return InvalidArgument("'{}' is no address that others can call: give a host's name or address",
                         text);
}

StatusOr<std::string> ParseHost(std::string_view given) {
  const std::string_view text = WithoutBlanks(given);
  std::optional<std::string> host = ReadHost(text);
  if (host.has_value()) return *std::move(host);
  return InvalidArgument("'{}' is neither a host's name nor its address", text);
}

std::string ToString(const HostPort& address) {
  return address.host.find(':') == std::string::npos
             ? fmt::format("{}:{}", address.host, address.port)
             : fmt::format("[{}]:{}", address.host, address.port);
}

bool IsLoopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

bool IsWildcard(std::string_view host) {
  in6_addr address6{};
  in_addr address4{};
  const std::string text(host);
  if (inet_pton(AF_INET6, text.c_str(), &address6) == 1) {
    return IN6_IS_ADDR_UNSPECIFIED(&address6) != 0;
  }
  return text == "0" ||
         (inet_pton(AF_INET, text.c_str(), &address4) == 1 && address4.s_addr == INADDR_ANY);
}

}  // namespace halograph
