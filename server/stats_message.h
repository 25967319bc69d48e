// What AdminService/Stats and /status answer, of a server's figures. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include <grpcpp/support/byte_buffer.h>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "server/handlers/describe.h"

namespace halograph::server {

// Whether the reply is to have metrics and lists. InvalidArgument if the bytes are no StatsRequest.
[[nodiscard]] StatusOr<bool> ParseStatsRequest(grpc::ByteBuffer* bytes);
// At most `max_bytes`: what does not fit is left out, and named in the reply's left_out.
// ResourceExhausted if even what is never left out does not fit.
[[nodiscard]] StatusOr<grpc::ByteBuffer> ToStatsReply(const ServerSnapshot& snapshot,
                                                      int64_t max_bytes);
// All of it in protobuf's JSON (64-bit integers are text), with all fields, and "program".
[[nodiscard]] StatusOr<Json> ToStatusJson(const ServerSnapshot& snapshot);
// What another server answered, a StatsReply's bytes, in the same form. What an older version does
// not say is 0 or empty. InvalidArgument: the bytes are no StatsReply; ResourceExhausted: it takes
// more memory than any server's figures do.
[[nodiscard]] StatusOr<Json> ReadStatsReply(std::string_view bytes);

}  // namespace halograph::server
