// Addresses between ranks: which of this machine's the others should connect to, and whether
// somebody listens at theirs. Thread-safe.
#pragma once

#include <chrono>
#include <string>

#include "common/base/status.h"

namespace halograph {

// The local address, as text, from which `host` is reached: loopback for a master on this machine
// that is named by loopback, else that of the network the master is on. (The host name, which
// Gloo takes by itself, is 127.0.1.1 on a stock Debian.) Sends nothing.
// Unavailable if `host` is unknown or unreachable, naming it.
[[nodiscard]] StatusOr<std::string> LocalAddressTowards(const std::string& host, int port);

// OK if somebody accepts a TCP connection at `host`:`port` within `timeout`, which is then closed.
// c10d's own attempts wait in whole seconds and complain on stderr. Unavailable with the reason.
[[nodiscard]] Status ProbeListener(const std::string& host, int port,
                                   std::chrono::milliseconds timeout);

}  // namespace halograph
