// Which of this machine's addresses the other ranks should connect to.
#pragma once

#include <string>

#include "common/base/status.h"

namespace halograph {

// The local address, as text, from which `host` is reached: loopback for a master on this machine
// that is named by loopback, else that of the network the master is on. (The host name, which
// Gloo takes by itself, is 127.0.1.1 on a stock Debian.) Sends nothing.
// Unavailable if `host` is unknown or unreachable, naming it.
[[nodiscard]] StatusOr<std::string> LocalAddressTowards(const std::string& host, int port);

}  // namespace halograph
