// Asks servers for their Stats by gRPC.
#pragma once

#include <cstdint>
#include <memory>

#include "server/peers/peers.h"

namespace halograph {
class TlsFiles;
}  // namespace halograph

namespace halograph::server {

// Replies of more than this are ResourceExhausted: the default of --max-message-bytes.
inline constexpr int64_t kMostStatsBytes = int64_t{4} << 20;

// Each server's connection stays open until Disconnect, or until a call to it failed: the next one
// looks for the server anew. Errors of a call are those of gRPC, as ExplainRefusal has them. `tls`
// outlives it; null: plain.
[[nodiscard]] std::unique_ptr<StatsCaller> MakeGrpcStatsCaller(const TlsFiles* tls = nullptr);

}  // namespace halograph::server
