// Where something listens, as people write it.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  int port = 0;
};

// "localhost:7000", "[::1]:0". InvalidArgument with the text.
[[nodiscard]] StatusOr<HostPort> ParseHostPort(std::string_view text);
// The same of something to call: port 0 is refused too.
[[nodiscard]] StatusOr<HostPort> ParseServerAddress(std::string_view text);
// "[::1]:7000"
[[nodiscard]] std::string ToString(const HostPort& address);
// Whether only this machine can reach what listens on `host`.
[[nodiscard]] bool IsLoopback(std::string_view host);

}  // namespace halograph
