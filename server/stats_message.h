// What AdminService/Stats and /status answer, of a server's figures. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include <grpcpp/support/byte_buffer.h>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "server/handlers/describe.h"
#include "server/runtime/buffer_pool.h"

namespace halograph::server {

struct StatsQuestion {
  bool metrics = false;   // the reply is to have metrics and lists
  int64_t max_bytes = 0;  // of the reply, and never more than fits into a message
};
// InvalidArgument if the bytes are no StatsRequest.
[[nodiscard]] StatusOr<StatsQuestion> ParseStatsRequest(grpc::ByteBuffer* bytes,
                                                        int64_t max_message_bytes);
// At most `max_bytes`: what does not fit is left out, and named in the reply's left_out. Tensors go
// first, as far as they take more than a quarter of it, and are counted in tensors_left_out.
// ResourceExhausted if even what is never left out does not fit.
[[nodiscard]] StatusOr<grpc::ByteBuffer> ToStatsReply(const ServerSnapshot& snapshot,
                                                      int64_t max_bytes);
// The same, a large one in a buffer of `memory`: where that has no room, without the tensors. So
// statistics are told also while replies that nobody reads take all memory.
[[nodiscard]] Status WriteStatsReply(const ServerSnapshot& snapshot, int64_t max_bytes,
                                     ReplyMemory& memory, grpc::ByteBuffer* reply);
// In protobuf's JSON (64-bit integers are text), with all fields, and "program". All of it, but for
// tensors that would take more than `max_bytes` of a message.
[[nodiscard]] StatusOr<Json> ToStatusJson(const ServerSnapshot& snapshot, int64_t max_bytes);
// What another server answered, a StatsReply's bytes, in the same form; without its tensors where
// they take too much memory. What an older version does not say is 0 or empty. InvalidArgument: the
// bytes are no StatsReply; ResourceExhausted: it takes more memory than any server's figures do.
[[nodiscard]] StatusOr<Json> ReadStatsReply(std::string_view bytes);

}  // namespace halograph::server
