// Generated messages between their bytes and their values. Thread-safe.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include "common/base/status.h"

namespace halograph::server {

// InvalidArgument: `bytes` are no such message. Uses them up.
[[nodiscard]] inline Status Parse(grpc::ByteBuffer* bytes, google::protobuf::Message* message) {
  if (bytes->Length() == 0) return OkStatus();
  grpc::ProtoBufferReader reader(bytes);
  if (reader.status().ok() && message->ParseFromZeroCopyStream(&reader)) return OkStatus();
  return InvalidArgument("malformed request: {} bytes that are no {}", bytes->Length(),
                         message->GetTypeName());
}

// Internal: the message has text that is not UTF-8, or is too large.
[[nodiscard]] inline StatusOr<grpc::ByteBuffer> Serialize(
    const google::protobuf::Message& message) {
  std::string bytes;
  if (!message.SerializeToString(&bytes)) {
    return Internal("{} cannot be serialized", message.GetTypeName());
  }
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace halograph::server
