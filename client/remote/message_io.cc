#include "client/remote/message_io.h"

#include <algorithm>
#include <deque>
#include <vector>

#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/message_lite.h>

namespace halograph {

Status ParseReply(ReplyPieces pieces, google::protobuf::MessageLite* message) {
  using google::protobuf::io::ArrayInputStream;
  using google::protobuf::io::ConcatenatingInputStream;
  using google::protobuf::io::ZeroCopyInputStream;
  std::deque<ArrayInputStream> streams;
  std::vector<ZeroCopyInputStream*> pointers;
  for (const std::span<const std::byte> piece : pieces) {
    streams.emplace_back(piece.data(), static_cast<int>(piece.size()));
    pointers.push_back(&streams.back());
  }
  ConcatenatingInputStream whole(pointers.data(), static_cast<int>(pointers.size()));
  if (!message->ParseFromZeroCopyStream(&whole)) {
    return DataLoss("the reply is no {}", message->GetTypeName());
  }
  return OkStatus();
}

int64_t PlannedBytes(int64_t max_message_bytes) {
  return max_message_bytes - std::min<int64_t>(65536, max_message_bytes / 2);
}

}  // namespace halograph
