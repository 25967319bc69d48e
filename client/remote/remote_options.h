// How the remote stores reach their servers: below all that talks to them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace halograph {

struct RemoteOptions {
  std::vector<std::string> servers;                             // HOST:PORT in any order
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);  // of every call, retries included
  int64_t max_message_bytes = 4194304;  // what this client receives and sends at most
  int channels_per_server = 2;
  int calls_in_flight = 4;  // per server and Pull or Sample
  int rank = -1;            // travels in metadata `halograph-rank` if >= 0
  // Whether the servers must also serve every partition's topology: false where the caller has it
  // by itself and only pulls features (hybrid mode).
  bool needs_topology = true;

  // InvalidArgument naming the field: no servers, one listed twice, not HOST:PORT, out of range.
  [[nodiscard]] Status Validate() const;
};

}  // namespace halograph
