// How many streams gRPC holds of each connection, by its own count: also those that a client has
// reset before they became a call that anybody here sees. gRPC keeps some 12 KB for each until it
// comes to it, which takes it seconds when many clients reset theirs.
//
// The count is channelz, which gRPC keeps for every server of the process. Each question costs tens
// of microseconds, so connections are asked about only when gRPC has many calls that are not known
// here. Stateless and thread-safe.
#pragma once

#include <cstdint>

#include "server/listener/connection_table.h"

namespace halograph::server {

// Calls of the process that are not known, up to which no connection is asked about.
inline constexpr int64_t kFewCalls = 256;

// Empty while gRPC has few open calls beside the `known` ones.
[[nodiscard]] StreamsOfPeers CountOpenStreams(int64_t known);

}  // namespace halograph::server
