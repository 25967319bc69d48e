#include "common/base/host_port.h"

#include <charconv>

namespace halograph {
namespace {

constexpr int kLargestPort = 65535;

bool ParsePort(std::string_view text, int least, int* port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *port);
  return error == std::errc() && end == text.data() + text.size() && *port >= least &&
         *port <= kLargestPort && text.front() != '-';
}

StatusOr<HostPort> Parse(std::string_view text, int least_port) {
  const size_t colon = text.rfind(':');
  HostPort address;
  if (colon == std::string_view::npos || colon == 0 ||
      !ParsePort(text.substr(colon + 1), least_port, &address.port)) {
    return InvalidArgument("'{}' is not HOST:PORT with a port of {} to {}", text, least_port,
                           kLargestPort);
  }
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find_first_of(":[]") != std::string_view::npos) {
    return InvalidArgument("'{}' is not HOST:PORT: write an IPv6 address in brackets, [::1]:7000",
                           text);
  }
  address.host = host;
  return address;
}

}  // namespace

StatusOr<HostPort> ParseHostPort(std::string_view text) { return Parse(text, 0); }

StatusOr<HostPort> ParseServerAddress(std::string_view text) { return Parse(text, 1); }

std::string ToString(const HostPort& address) {
  return address.host.find(':') == std::string::npos
             ? fmt::format("{}:{}", address.host, address.port)
             : fmt::format("[{}]:{}", address.host, address.port);
}

bool IsLoopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace halograph
