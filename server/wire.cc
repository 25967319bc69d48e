#include "server/wire.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/slice.h>

#include "proto/wire/pull.h"
#include "proto/wire/read_replies.h"
#include "proto/wire/sample_reply.h"
#include "proto/wire/snapshot_page.h"

namespace halograph::server {
namespace {

// The bytes of a request where gRPC has them. Holds on to them.
class RequestPieces {
 public:
  explicit RequestPieces(const grpc::ByteBuffer& bytes)
      : readable_(bytes.Length() == 0 || bytes.Dump(&slices_).ok()) {
    for (const grpc::Slice& slice : slices_) {
      pieces_.push_back(std::as_bytes(std::span(slice.begin(), slice.size())));
    }
  }
  RequestPieces(const RequestPieces&) = delete;
  RequestPieces& operator=(const RequestPieces&) = delete;

  // InvalidArgument if gRPC cannot give them (compressed, and damaged).
  [[nodiscard]] StatusOr<wire::Pieces> Get() const {
    if (!readable_) return InvalidArgument("malformed request: its bytes cannot be decompressed");
    return wire::Pieces(pieces_);
  }

 private:
  std::vector<grpc::Slice> slices_;
  std::vector<std::span<const std::byte>> pieces_;
  const bool readable_;
};

// Takes a buffer into a slice of `length` bytes from `begin`, given back when gRPC has sent it.
grpc::ByteBuffer Own(PooledBuffer buffer, size_t begin, size_t length) {
  std::byte* data = buffer.data() + begin;
  auto* owner = new PooledBuffer(std::move(buffer));
  const grpc::Slice slice(
      data, length, [](void* user_data) { delete static_cast<PooledBuffer*>(user_data); }, owner);
  return grpc::ByteBuffer(&slice, 1);
}

// A slice over mapped bytes that keeps their owner alive until gRPC has sent them.
template <typename Owner>
grpc::Slice Borrow(std::span<const std::byte> bytes, const std::shared_ptr<Owner>& owner) {
  using Kept = std::shared_ptr<Owner>;
  return {const_cast<std::byte*>(bytes.data()), bytes.size(),
          [](void* user_data) { delete static_cast<Kept*>(user_data); }, new Kept(owner)};
}

// All answers in one buffer: bytes(shape) of each, which put(shape, out) writes.
template <typename Answer, typename Bytes, typename Put>
Status WriteAnswers(std::span<const Answer> answers, const Bytes& bytes, const Put& put,
                    ReplyMemory& memory, grpc::ByteBuffer* reply) {
  size_t all = 0;
  for (const Answer& answer : answers) all += bytes(answer.shape());
  HG_ASSIGN_OR_RETURN(PooledBuffer buffer, memory.Acquire(all));
  std::byte* out = buffer.data();
  for (const Answer& answer : answers) out = put(answer.shape(), out);
  *reply = Own(std::move(buffer), 0, all);
  return OkStatus();
}

grpc::Slice HeaderSlice(const std::string& header) { return {header.data(), header.size()}; }

}  // namespace

Status WriteMessage(const google::protobuf::MessageLite& message, int64_t max_bytes,
                    ReplyMemory& memory, grpc::ByteBuffer* reply) {
  const size_t bytes = message.ByteSizeLong();
  if (static_cast<int64_t>(bytes) > max_bytes) {
    return ResourceExhausted(
        "a reply of {} bytes, messages have at most {}: start the server with a larger "
        "--max-message-bytes",
        bytes, max_bytes);
  }
  HG_ASSIGN_OR_RETURN(PooledBuffer buffer, memory.Acquire(bytes));
  message.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(buffer.data()));
  *reply = Own(std::move(buffer), 0, bytes);
  return OkStatus();
}

StatusOr<PullRequest> ParsePullRequest(const grpc::ByteBuffer& bytes) {
  const RequestPieces pieces(bytes);
  HG_ASSIGN_OR_RETURN(const wire::Pieces message, pieces.Get());
  HG_ASSIGN_OR_RETURN(wire::PullRequest request, wire::ReadPullRequest(message));
  return PullRequest{.tensor = {request.edge, std::move(request.type), std::move(request.name)},
                     .ids = std::move(request.ids),
                     .min_lsn = request.min_lsn};
}

StatusOr<LayerSampleRequest> ParseSampleRequest(const grpc::ByteBuffer& bytes) {
  const RequestPieces pieces(bytes);
  HG_ASSIGN_OR_RETURN(const wire::Pieces message, pieces.Get());
  return wire::ReadSampleRequest(message, SampleHandler::kMaxGroups);
}

StatusOr<wire::ColumnSumsRequest> ParseColumnSumsRequest(const grpc::ByteBuffer& bytes) {
  const RequestPieces pieces(bytes);
  HG_ASSIGN_OR_RETURN(const wire::Pieces message, pieces.Get());
  return wire::ReadColumnSumsRequest(message, kMaxColumnGroups);
}

StatusOr<wire::ExtractRequest> ParseExtractRequest(const grpc::ByteBuffer& bytes) {
  const RequestPieces pieces(bytes);
  HG_ASSIGN_OR_RETURN(const wire::Pieces message, pieces.Get());
  return wire::ReadExtractRequest(message, kMaxColumnGroups);
}

StatusOr<wire::PushRequest> ParsePushRequest(const grpc::ByteBuffer& bytes) {
  const RequestPieces pieces(bytes);
  HG_ASSIGN_OR_RETURN(const wire::Pieces message, pieces.Get());
  return wire::ReadPushRequest(message);
}

grpc::ByteBuffer WritePushReply(const PushReceipt& receipt) {
  const grpc::Slice slice =
      HeaderSlice(wire::WritePushReply({.lsn = receipt.lsn, .applied_before = receipt.repeated}));
  return {&slice, 1};
}

Status WritePullReply(const PullHandler& handler, const PullPlan& plan,
                      std::span<const int64_t> ids, ReplyMemory& memory, const WorkLimits& limits,
                      grpc::ByteBuffer* reply) {
  constexpr size_t kRoom = wire::kPullReplyHeaderBytes;
  HG_ASSIGN_OR_RETURN(PooledBuffer buffer, memory.Acquire(kRoom + plan.bytes));
  std::array<std::byte, kRoom> header{};
  const auto dtype = static_cast<uint32_t>(plan.tensor->resolved.spec.dtype);
  const std::byte* const end =
      wire::PutPullReplyHeader(dtype, plan.shape, plan.bytes, header.data());
  const auto header_bytes = static_cast<size_t>(end - header.data());
  std::memcpy(buffer.data() + kRoom - header_bytes, header.data(), header_bytes);
  HG_RETURN_IF_ERROR(handler.Gather(plan, ids, buffer.data() + kRoom, limits));
  *reply = Own(std::move(buffer), kRoom - header_bytes, header_bytes + plan.bytes);
  return OkStatus();
}

Status WriteSnapshotReply(const SnapshotPage& page, ReplyMemory& memory, grpc::ByteBuffer* reply) {
  wire::PageEnd end{.step = page.step};
  if (page.next.has_value()) {
    end.next = wire::PagePlace{.file = page.next->file,
                               .offset = page.next->offset,
                               .section = page.next->section,
                               .row = page.next->row};
  }
  HG_ASSIGN_OR_RETURN(PooledBuffer buffer, memory.Acquire(wire::SnapshotPageBytes(
                                               page.rows.size(), page.images.size())));
  const std::byte* const written =
      wire::PutSnapshotPage(page.rows, page.images, end, buffer.data());
  const auto bytes = static_cast<size_t>(written - buffer.data());
  *reply = Own(std::move(buffer), 0, bytes);
  return OkStatus();
}

Status WriteSampleReply(const SampleHandler& handler, std::span<const LayerSamplePlan> plans,
                        ReplyMemory& memory, grpc::ByteBuffer* reply) {
  size_t bytes = 0;
  for (const LayerSamplePlan& plan : plans) bytes += wire::SampleGroupReplyBytes(plan.shape());
  HG_ASSIGN_OR_RETURN(PooledBuffer buffer, memory.Acquire(bytes));
  std::byte* out = buffer.data();
  for (const LayerSamplePlan& plan : plans) {
    const wire::SampleGroupArrays arrays = wire::PutSampleGroupReply(plan.shape(), out);
    if (plan.edges > 0 || plan.draws.degrees) HG_RETURN_IF_ERROR(handler.Draw(plan, arrays));
    out = arrays.end;
  }
  *reply = Own(std::move(buffer), 0, bytes);
  return OkStatus();
}

Status WriteColumnSumsReply(std::span<const ColumnSumsAnswer> answers, ReplyMemory& memory,
                            grpc::ByteBuffer* reply) {
  return WriteAnswers(answers, wire::ColumnSumsGroupBytes, wire::PutColumnSumsGroup, memory, reply);
}

Status WriteExtractReply(std::span<const ExtractAnswer> answers, ReplyMemory& memory,
                         grpc::ByteBuffer* reply) {
  return WriteAnswers(answers, wire::ExtractGroupBytes, wire::PutExtractGroup, memory, reply);
}

grpc::ByteBuffer WriteTaskSetReply(const TaskSetPage& page,
                                   const std::shared_ptr<const ServedGraph>& graph) {
  std::vector<grpc::Slice> slices{
      HeaderSlice(wire::TaskSetReplyHeader(page.total_rows, page.rows))};
  for (const TaskSetArray& array : page.arrays) {
    const TensorSpec& spec = *array.spec;
    std::vector<int64_t> shape{page.rows};
    if (spec.rank == 2) shape.push_back(spec.dim);
    slices.push_back(HeaderSlice(wire::TaskSetArrayHeader(
        spec.name, static_cast<uint32_t>(spec.dtype), shape, array.data.size())));
    if (!array.data.empty()) slices.push_back(Borrow(array.data, graph));
  }
  return {slices.data(), slices.size()};
}

grpc::ByteBuffer WriteTopologyReply(const TopologyRange& range,
                                    const std::shared_ptr<const TopologyFiles>& files) {
  std::array<std::byte, wire::kTopologyReplyHeaderBytes> header{};
  const std::byte* const end =
      wire::PutTopologyReplyHeader(range.file_bytes, range.data.size(), header.data());
  std::vector<grpc::Slice> slices{
      grpc::Slice(header.data(), static_cast<size_t>(end - header.data()))};
  if (!range.data.empty()) slices.push_back(Borrow(range.data, files));
  return {slices.data(), slices.size()};
}

}  // namespace halograph::server
