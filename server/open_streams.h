// How many streams gRPC holds of each connection, by its own count: also those that a client has
// reset before they became a call that anybody here sees. gRPC keeps some 12 KB for each until it
// comes to it, which takes it seconds when many clients reset theirs.
//
// The count is channelz, which gRPC keeps for every server. Each question costs tens of
// microseconds, so connections are asked about only when the process has many open calls.
#pragma once

#include <cstdint>

#include "server/listener/connection_table.h"

namespace halograph::server {

// For one thread.
class OpenStreams {
 public:
  // Open calls of all servers of the process up to which nobody is asked.
  static constexpr int64_t kFewCalls = 256;

  // Empty while few calls are open.
  [[nodiscard]] StreamsOfPeers Count();

 private:
  // Calls whose end gRPC has not counted although their streams are gone.
  int64_t never_ended_ = 0;
};

}  // namespace halograph::server
