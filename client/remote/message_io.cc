#include "client/remote/message_io.h"

#include <algorithm>
#include <deque>
#include <vector>

#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/message_lite.h>

namespace halograph {

Status ParseReply(ReplyPieces pieces, google::protobuf::MessageLite* message) {
  std::deque<google::protobuf::io::ArrayInputStream> streams;
  std::vector<google::protobuf::io::ZeroCopyInputStream*> pointers;
  for (const std::span<const std::byte> piece : pieces) {
    pointers.push_back(&streams.emplace_back(piece.data(), static_cast<int>(piece.size())));
  }
  google::protobuf::io::ConcatenatingInputStream whole(pointers.data(),
                                                       static_cast<int>(pointers.size()));
  if (!message->ParseFromZeroCopyStream(&whole)) {
    return DataLoss("the reply cannot be read as {}", message->GetTypeName());
  }
  return OkStatus();
}

int64_t PlannedBytes(int64_t max_message_bytes) {
  return max_message_bytes - std::min<int64_t>(65536, max_message_bytes / 2);
}

}  // namespace halograph
