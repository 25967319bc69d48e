// A TCP socket that listens.
#pragma once

#include <cstddef>
#include <vector>

#include "common/base/host_port.h"
#include "common/base/status.h"

namespace halograph {

struct ListenSocket {
  int fd = -1;              // whoever has this closes it
  HostPort address;         // as asked for, with the port that was bound
  bool at_loopback = true;  // by the address that was bound, whatever its name
};

// Listens at the first address of the host's that can be bound. "::" takes IPv4 too.
//   FailedPrecondition  none can: the text has the address, the reason (EADDRINUSE) and what to do
[[nodiscard]] StatusOr<ListenSocket> Listen(const HostPort& address, int backlog);

// Listens at all addresses of the host's that can be bound, at one port; at least at one. "::" and
// "0.0.0.0" take IPv6 and IPv4, where the machine has both. Errors as Listen.
[[nodiscard]] StatusOr<std::vector<ListenSocket>> ListenAtAll(const HostPort& address, int backlog);

}  // namespace halograph
