// The pieces of a reply as the one stream that protobuf reads.
#pragma once

#include <deque>
#include <vector>

#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include "client/remote/transport.h"

namespace halograph {

// Borrows the pieces' bytes. One reader.
class ReplyStream {
 public:
  explicit ReplyStream(ReplyPieces pieces)
      : pointers_(Open(pieces, &streams_)),
        whole_(pointers_.data(), static_cast<int>(pointers_.size())) {}
  ReplyStream(const ReplyStream&) = delete;
  ReplyStream& operator=(const ReplyStream&) = delete;

  [[nodiscard]] google::protobuf::io::ZeroCopyInputStream* get() { return &whole_; }

 private:
  using Streams = std::deque<google::protobuf::io::ArrayInputStream>;

  static std::vector<google::protobuf::io::ZeroCopyInputStream*> Open(ReplyPieces pieces,
                                                                      Streams* streams) {
    std::vector<google::protobuf::io::ZeroCopyInputStream*> pointers;
    for (const std::span<const std::byte> piece : pieces) {
      pointers.push_back(&streams->emplace_back(piece.data(), static_cast<int>(piece.size())));
    }
    return pointers;
  }

  Streams streams_;
  std::vector<google::protobuf::io::ZeroCopyInputStream*> pointers_;
  google::protobuf::io::ConcatenatingInputStream whole_;
};

}  // namespace halograph
