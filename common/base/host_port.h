// Hosts and addresses as people write them: the one place that reads them. Blanks around them do
// not count. A host is a name, an IPv4 address, or an IPv6 address, which may have a zone
// (fe80::1%eth0).
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  int port = 0;
};

// All of them: InvalidArgument with the text, and what to write.

// Where to listen: "localhost:7000", "[::1]:0". An IPv6 address stands in brackets.
[[nodiscard]] StatusOr<HostPort> ParseHostPort(std::string_view text);
// What to call: port 0 is refused, and of an IPv6 address without brackets, "::1:7000", what stands
// behind the last colon is the port.
[[nodiscard]] StatusOr<HostPort> ParseServerAddress(std::string_view text);
// What others call, "HOST" or "HOST:PORT": port 0 where none is given. Refuses port 0, a wildcard,
// which nobody can call, and an IPv6 address without brackets, which may end with a port or not.
[[nodiscard]] StatusOr<HostPort> ParseAdvertised(std::string_view text);
// A host alone, without brackets: "node7", "::1", "[::1]".
[[nodiscard]] StatusOr<std::string> ParseHost(std::string_view text);

// "[::1]:7000"
[[nodiscard]] std::string ToString(const HostPort& address);
// Whether only this machine can reach what listens on `host`.
[[nodiscard]] bool IsLoopback(std::string_view host);
// Whether it stands for all addresses of a machine: "0.0.0.0", "::".
[[nodiscard]] bool IsWildcard(std::string_view host);

}  // namespace halograph
