// Names of hosts, looked up with a deadline. The system's own function has none: a name service
// that does not answer holds it for as long as /etc/resolv.conf says, which may be minutes.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "common/base/host_port.h"
#include "common/base/status.h"

namespace halograph {

struct SocketAddress {
  sockaddr_storage bytes = {};
  socklen_t size = 0;
  std::string number = {};  // of the host: "10.0.0.7"
};
// In the order in which they are tried.
using HostAddresses = std::vector<SocketAddress>;

// Asks the system, for as long as that takes. NotFound with what it says.
[[nodiscard]] StatusOr<HostAddresses> AskSystem(const HostPort& host);

// Names that are asked for at a time.
inline constexpr size_t kMostLookups = 64;

// Of each, in their order, at the deadline at the latest: what `ask` says, or DeadlineExceeded if
// it has not come back by then. Threads that still ask are left behind: they end on their own, and
// touch nothing but what they share with this call. `ask` is called by several threads at a time.
[[nodiscard]] std::vector<StatusOr<HostAddresses>> LookUpAll(
    std::vector<HostPort> hosts, std::chrono::steady_clock::time_point deadline,
    std::function<StatusOr<HostAddresses>(const HostPort&)> ask = AskSystem);

// Of one. A number is no question: it comes at once, whatever the deadline.
[[nodiscard]] StatusOr<HostAddresses> LookUp(const HostPort& host,
                                             std::chrono::steady_clock::time_point deadline);

}  // namespace halograph
