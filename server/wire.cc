#include "server/wire.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

namespace halograph::server {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

// ---- reading ---------------------------------------------------------------------------------

constexpr uint32_t Tag(int field, WireFormatLite::WireType type) {
  return (static_cast<uint32_t>(field) << 3) | static_cast<uint32_t>(type);
}
constexpr auto kVarint = WireFormatLite::WIRETYPE_VARINT;
constexpr auto kFixed64 = WireFormatLite::WIRETYPE_FIXED64;
constexpr auto kBytes = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;

// A length that what is left of the message can hold.
bool ReadLength(CodedInputStream& in, int* length) {
  return in.ReadVarintSizeAsInt(length) && *length <= in.BytesUntilLimit();
}

bool ReadText(CodedInputStream& in, std::string* text) {
  int length = 0;
  return ReadLength(in, &length) && in.ReadString(text, length);
}

// The whole of a packed field. Ids beyond 2^63 come out negative: no id is.
bool ReadPackedIds(CodedInputStream& in, std::vector<int64_t>* ids) {
  int length = 0;
  if (!ReadLength(in, &length) || length % sizeof(int64_t) != 0) return false;
  const size_t before = ids->size();
  ids->resize(before + length / sizeof(int64_t));
  return in.ReadRaw(ids->data() + before, length);
}

bool ReadOneId(CodedInputStream& in, std::vector<int64_t>* ids) {
  uint64_t id = 0;
  if (!in.ReadLittleEndian64(&id)) return false;
  ids->push_back(static_cast<int64_t>(id));
  return true;
}

bool ReadBool(CodedInputStream& in, bool* value) {
  uint64_t number = 0;
  if (!in.ReadVarint64(&number)) return false;
  *value = number != 0;
  return true;
}

// Calls field(tag) until the message ends; `field` reads or skips it.
template <typename Field>
bool ReadFields(CodedInputStream& in, Field field) {
  for (uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
    if (!field(tag)) return false;
  }
  return in.ConsumedEntireMessage();
}

bool ReadPull(CodedInputStream& in, PullRequest* request) {
  return ReadFields(in, [&](uint32_t tag) {
    switch (tag) {
      case Tag(1, kVarint):
        return ReadBool(in, &request->tensor.edge);
      case Tag(2, kBytes):
        return ReadText(in, &request->tensor.type);
      case Tag(3, kBytes):
        return ReadText(in, &request->tensor.name);
      case Tag(4, kBytes):
        return ReadPackedIds(in, &request->ids);
      case Tag(4, kFixed64):
        return ReadOneId(in, &request->ids);
      default:
        return WireFormatLite::SkipField(&in, tag);
    }
  });
}

bool ReadGroup(CodedInputStream& in, LayerSampleGroup* group) {
  int length = 0;
  if (!ReadLength(in, &length)) return false;
  const CodedInputStream::Limit limit = in.PushLimit(length);
  const bool read = ReadFields(in, [&](uint32_t tag) {
    switch (tag) {
      case Tag(1, kBytes):
        return ReadText(in, &group->relation);
      case Tag(2, kVarint): {
        uint64_t zigzag = 0;
        if (!in.ReadVarint64(&zigzag)) return false;
        group->fanout = WireFormatLite::ZigZagDecode32(static_cast<uint32_t>(zigzag));
        return true;
      }
      case Tag(3, kBytes):
        return ReadPackedIds(in, &group->destinations);
      case Tag(3, kFixed64):
        return ReadOneId(in, &group->destinations);
      default:
        return WireFormatLite::SkipField(&in, tag);
    }
  });
  in.PopLimit(limit);
  return read;
}

bool ReadSample(CodedInputStream& in, LayerSampleRequest* request) {
  return ReadFields(in, [&](uint32_t tag) {
    switch (tag) {
      case Tag(1, kFixed64):
        return in.ReadLittleEndian64(&request->batch_seed);
      case Tag(2, kVarint): {
        uint64_t layer = 0;
        if (!in.ReadVarint64(&layer)) return false;
        request->layer = static_cast<uint32_t>(layer);
        return true;
      }
      case Tag(3, kVarint):
        return ReadBool(in, &request->replace);
      case Tag(4, kBytes):
        // One beyond the bound is enough for the handler to refuse: small groups must not blow
        // up a message of some MB into many times that.
        if (request->groups.size() > SampleHandler::kMaxGroups) request->groups.pop_back();
        return ReadGroup(in, &request->groups.emplace_back());
      case Tag(5, kBytes):
        return ReadText(in, &request->weight);
      default:
        return WireFormatLite::SkipField(&in, tag);
    }
  });
}

template <typename Message>
StatusOr<Message> ParseWith(bool (*read)(CodedInputStream&, Message*), grpc::ByteBuffer* bytes,
                            std::string_view name) {
  Message message;
  const auto length = static_cast<int>(bytes->Length());
  if (length == 0) return message;
  grpc::ProtoBufferReader reader(bytes);
  CodedInputStream in(&reader);
  in.PushLimit(length);
  if (!reader.status().ok() || !read(in, &message)) {
    return InvalidArgument("malformed request: {} bytes that are no halograph.v1.{}", length, name);
  }
  return message;
}

// ---- writing ---------------------------------------------------------------------------------

uint8_t* Bytes(std::byte* data) { return reinterpret_cast<uint8_t*>(data); }

// Takes a buffer into a slice of `length` bytes from `begin`, given back when gRPC has sent it.
grpc::ByteBuffer Own(PooledBuffer buffer, size_t begin, size_t length) {
  std::byte* data = buffer.data() + begin;
  auto* owner = new PooledBuffer(std::move(buffer));
  const grpc::Slice slice(
      data, length, [](void* user_data) { delete static_cast<PooledBuffer*>(user_data); }, owner);
  return grpc::ByteBuffer(&slice, 1);
}

// `shape` as a packed field.
uint8_t* WriteShape(int field, std::span<const int64_t> shape, uint8_t* out) {
  size_t length = 0;
  for (const int64_t extent : shape) length += CodedOutputStream::VarintSize64(extent);
  out = CodedOutputStream::WriteTagToArray(Tag(field, kBytes), out);
  out = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(length), out);
  for (const int64_t extent : shape) out = CodedOutputStream::WriteVarint64ToArray(extent, out);
  return out;
}

uint8_t* WriteBytesHeader(int field, size_t length, uint8_t* out) {
  out = CodedOutputStream::WriteTagToArray(Tag(field, kBytes), out);
  return CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(length), out);
}

uint8_t* WriteDType(int field, DType dtype, uint8_t* out) {
  out = CodedOutputStream::WriteTagToArray(Tag(field, kVarint), out);
  return CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(dtype), out);
}

size_t FieldBytes(size_t length) {
  return 1 + CodedOutputStream::VarintSize32(static_cast<uint32_t>(length)) + length;
}

size_t CountsBytes(const LayerSamplePlan& plan) {
  size_t bytes = 0;
  for (const uint32_t count : plan.counts) bytes += CodedOutputStream::VarintSize32(count);
  return bytes;
}

size_t GroupBytes(const LayerSamplePlan& plan) {
  return (plan.counts.empty() ? 0 : FieldBytes(CountsBytes(plan))) +
         (plan.edges == 0 ? 0 : FieldBytes(plan.source_bytes()));
}

// Moves `out` beyond what it writes. Fails as SampleHandler::Draw.
Status WriteGroup(const SampleHandler& handler, const LayerSamplePlan& plan, uint8_t** out) {
  *out = WriteBytesHeader(1, GroupBytes(plan), *out);
  if (!plan.counts.empty()) {
    *out = WriteBytesHeader(1, CountsBytes(plan), *out);
    for (const uint32_t count : plan.counts) {
      *out = CodedOutputStream::WriteVarint32ToArray(count, *out);
    }
  }
  if (plan.edges == 0) return OkStatus();
  *out = WriteBytesHeader(plan.wide ? 3 : 2, plan.source_bytes(), *out);
  HG_RETURN_IF_ERROR(handler.Draw(plan, reinterpret_cast<std::byte*>(*out)));
  *out += plan.source_bytes();
  return OkStatus();
}

// A slice over mapped bytes that keeps their owner alive until gRPC has sent them.
template <typename Owner>
grpc::Slice Borrow(std::span<const std::byte> bytes, const std::shared_ptr<Owner>& owner) {
  using Kept = std::shared_ptr<Owner>;
  return {const_cast<std::byte*>(bytes.data()), bytes.size(),
          [](void* user_data) { delete static_cast<Kept*>(user_data); }, new Kept(owner)};
}

grpc::Slice HeaderSlice(const std::string& header) { return {header.data(), header.size()}; }

// Everything of a Tensor but its data, with the length of the whole in front.
std::string TensorHeader(const TaskSetArray& array, int64_t rows) {
  const TensorSpec& spec = *array.spec;
  std::array<uint8_t, 64> fixed{};
  std::vector<int64_t> shape{rows};
  if (spec.rank == 2) shape.push_back(spec.dim);
  uint8_t* end = WriteShape(3, shape, WriteDType(2, spec.dtype, fixed.data()));
  if (!array.data.empty()) end = WriteBytesHeader(4, array.data.size(), end);
  const auto fixed_bytes = static_cast<int>(end - fixed.data());
  const size_t length = FieldBytes(spec.name.size()) + fixed_bytes + array.data.size();
  std::string header;
  google::protobuf::io::StringOutputStream stream(&header);
  CodedOutputStream out(&stream);
  out.WriteTag(Tag(3, kBytes));
  out.WriteVarint32(static_cast<uint32_t>(length));
  out.WriteTag(Tag(1, kBytes));
  out.WriteVarint32(static_cast<uint32_t>(spec.name.size()));
  out.WriteString(spec.name);
  out.WriteRaw(fixed.data(), fixed_bytes);
  out.Trim();
  return header;
}

}  // namespace

StatusOr<PullRequest> ParsePullRequest(grpc::ByteBuffer* bytes) {
  return ParseWith<PullRequest>(ReadPull, bytes, "PullRequest");
}

StatusOr<LayerSampleRequest> ParseSampleRequest(grpc::ByteBuffer* bytes) {
  return ParseWith<LayerSampleRequest>(ReadSample, bytes, "SampleRequest");
}

Status WritePullReply(const PullHandler& handler, const PullPlan& plan,
                      std::span<const int64_t> ids, BufferPool& pool, grpc::ByteBuffer* reply) {
  constexpr size_t kRoom = PullHandler::kHeaderBytes;
  HG_ASSIGN_OR_RETURN(PooledBuffer buffer, pool.Acquire(kRoom + plan.bytes));
  std::array<uint8_t, kRoom> header{};
  uint8_t* end =
      WriteShape(2, plan.shape, WriteDType(1, plan.tensor->resolved.spec.dtype, header.data()));
  if (plan.bytes > 0) end = WriteBytesHeader(3, plan.bytes, end);
  const auto header_bytes = static_cast<size_t>(end - header.data());
  std::memcpy(buffer.data() + kRoom - header_bytes, header.data(), header_bytes);
  HG_RETURN_IF_ERROR(handler.Gather(plan, ids, buffer.data() + kRoom));
  *reply = Own(std::move(buffer), kRoom - header_bytes, header_bytes + plan.bytes);
  return OkStatus();
}

Status WriteSampleReply(const SampleHandler& handler, std::span<const LayerSamplePlan> plans,
                        BufferPool& pool, grpc::ByteBuffer* reply) {
  size_t bytes = 0;
  for (const LayerSamplePlan& plan : plans) bytes += FieldBytes(GroupBytes(plan));
  HG_ASSIGN_OR_RETURN(PooledBuffer buffer, pool.Acquire(bytes));
  uint8_t* out = Bytes(buffer.data());
  for (const LayerSamplePlan& plan : plans) HG_RETURN_IF_ERROR(WriteGroup(handler, plan, &out));
  *reply = Own(std::move(buffer), 0, bytes);
  return OkStatus();
}

grpc::ByteBuffer WriteTaskSetReply(const TaskSetPage& page,
                                   const std::shared_ptr<const ServedGraph>& graph) {
  std::array<uint8_t, 32> counts{};
  uint8_t* end = CodedOutputStream::WriteTagToArray(Tag(1, kVarint), counts.data());
  end = CodedOutputStream::WriteVarint64ToArray(page.total_rows, end);
  end = CodedOutputStream::WriteTagToArray(Tag(2, kVarint), end);
  end = CodedOutputStream::WriteVarint64ToArray(page.rows, end);
  std::vector<grpc::Slice> slices{grpc::Slice(counts.data(), end - counts.data())};
  for (const TaskSetArray& array : page.arrays) {
    slices.push_back(HeaderSlice(TensorHeader(array, page.rows)));
    if (array.data.empty()) continue;
    slices.push_back(Borrow(array.data, graph));
  }
  return {slices.data(), slices.size()};
}

grpc::ByteBuffer WriteTopologyReply(const TopologyRange& range,
                                    const std::shared_ptr<const TopologyFiles>& files) {
  std::array<uint8_t, TopologyFiles::kHeaderBytes> header{};
  uint8_t* end = CodedOutputStream::WriteTagToArray(Tag(1, kVarint), header.data());
  end = CodedOutputStream::WriteVarint64ToArray(static_cast<uint64_t>(range.file_bytes), end);
  if (range.data.empty()) {
    const grpc::Slice slice(header.data(), end - header.data());
    return {&slice, 1};
  }
  end = WriteBytesHeader(2, range.data.size(), end);
  const grpc::Slice slices[] = {grpc::Slice(header.data(), end - header.data()),
                                Borrow(range.data, files)};
  return {slices, 2};
}

}  // namespace halograph::server
