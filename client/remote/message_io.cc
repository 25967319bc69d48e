#include "client/remote/message_io.h"

#include <algorithm>

#include <google/protobuf/message_lite.h>

#include "client/remote/reply_stream.h"

namespace halograph {

Status ParseReply(ReplyPieces pieces, google::protobuf::MessageLite* message) {
  ReplyStream stream(pieces);
  if (!message->ParseFromZeroCopyStream(stream.get())) {
    return DataLoss("the reply is no {}", message->GetTypeName());
  }
  return OkStatus();
}

int64_t PlannedBytes(int64_t max_message_bytes) {
  return max_message_bytes - std::min<int64_t>(65536, max_message_bytes / 2);
}

}  // namespace halograph
