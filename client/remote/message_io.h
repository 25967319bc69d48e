// Protobuf messages from and to the bytes that rpc.h moves. Pure functions.
#pragma once

#include <cstdint>

#include "client/remote/transport.h"
#include "common/base/status.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace halograph {

// DataLoss naming the message type if the pieces are not one.
[[nodiscard]] Status ParseReply(ReplyPieces pieces, google::protobuf::MessageLite* message);

// What clients plan for in messages under a limit: 64 KiB less, so that headers and framing fit;
// half of limits below 128 KiB.
[[nodiscard]] int64_t PlannedBytes(int64_t max_message_bytes);

}  // namespace halograph
