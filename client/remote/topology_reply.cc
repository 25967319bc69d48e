#include "client/remote/topology_reply.h"

#include <algorithm>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "client/remote/reply_stream.h"

namespace halograph {

namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr uint32_t kFileBytesTag = (1U << 3) | WireFormatLite::WIRETYPE_VARINT;
constexpr uint32_t kDataTag = (2U << 3) | WireFormatLite::WIRETYPE_LENGTH_DELIMITED;

bool ReadData(CodedInputStream& in, TopologyReply* reply) {
  int left = 0;
  if (!in.ReadVarintSizeAsInt(&left)) return false;
  reply->data.clear();  // as generated code: the last one counts
  reply->data_bytes = left;
  while (left > 0) {
    const void* bytes = nullptr;
    int size = 0;
    if (!in.GetDirectBufferPointer(&bytes, &size)) return false;
    size = std::min(size, left);
    reply->data.emplace_back(static_cast<const std::byte*>(bytes), static_cast<size_t>(size));
    if (!in.Skip(size)) return false;
    left -= size;
  }
  return true;
}

bool Read(CodedInputStream& in, TopologyReply* reply) {
  for (uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
    bool read = false;
    if (tag == kFileBytesTag) {
      uint64_t bytes = 0;
      read = in.ReadVarint64(&bytes);
      reply->file_bytes = static_cast<int64_t>(bytes);
    } else if (tag == kDataTag) {
      read = ReadData(in, reply);
    } else {
      read = WireFormatLite::SkipField(&in, tag);
    }
    if (!read) return false;
  }
  return in.ConsumedEntireMessage();
}

}  // namespace

StatusOr<TopologyReply> ReadTopologyReply(ReplyPieces pieces) {
  ReplyStream stream(pieces);
  CodedInputStream in(stream.get());
  TopologyReply reply;
  if (!Read(in, &reply)) return DataLoss("the reply is no halograph.v1.ReadTopologyReply");
  return reply;
}

}  // namespace halograph
