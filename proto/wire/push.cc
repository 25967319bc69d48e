#include "proto/wire/push.h"

#include <utility>

#include "proto/wire/writer.h"

namespace halograph::wire {

namespace {

// Negative numbers of 32 bits travel as 64 bits.
uint64_t Wide(int32_t value) { return static_cast<uint64_t>(int64_t{value}); }

// ---- reading ---------------------------------------------------------------------------------

void ReadStep(Reader& in, PushStep* step) {
  using enum WireType;
  namespace f = sync_step;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kStep, kVarint):
        step->step = static_cast<int64_t>(in.Varint());
        break;
      case Tag(f::kRank, kVarint):
        step->rank = static_cast<int32_t>(in.Varint());
        break;
      case Tag(f::kWorldSize, kVarint):
        step->world_size = static_cast<int32_t>(in.Varint());
        break;
      case Tag(f::kRun, kFixed64):
        step->run = in.Fixed64();
        break;
      case Tag(f::kChunk, kVarint):
        step->chunk = static_cast<int32_t>(in.Varint());
        break;
      case Tag(f::kChunks, kVarint):
        step->chunks = static_cast<int32_t>(in.Varint());
        break;
      default:
        in.SkipField(tag);
    }
  }
}

// False if the field is none of the header's.
bool ReadHeaderField(Reader& in, uint32_t tag, PushHeader* header) {
  using enum WireType;
  namespace f = push_request;
  switch (tag) {
    case Tag(f::kEdge, kVarint):
      header->edge = in.Varint() != 0;
      return true;
    case Tag(f::kType, kBytes):
      header->type = in.Text();
      return true;
    case Tag(f::kName, kBytes):
      header->name = in.Text();
      return true;
    case Tag(f::kPart, kVarint):
      header->part = static_cast<uint32_t>(in.Varint());
      return true;
    case Tag(f::kKind, kVarint):
      header->kind = static_cast<uint32_t>(in.Varint());
      return true;
    case Tag(f::kClient, kFixed64):
      header->client = in.Fixed64();
      return true;
    case Tag(f::kSequence, kVarint):
      header->sequence = in.Varint();
      return true;
    case Tag(f::kStep, kBytes):
      if (!header->step.has_value()) header->step.emplace();
      in.Message([&] { ReadStep(in, &*header->step); });
      return true;
    case Tag(f::kDType, kVarint):
      header->dtype = static_cast<uint32_t>(in.Varint());
      return true;
    case Tag(f::kRegistered, kVarint):
      header->registered = in.Varint() != 0;
      return true;
    case Tag(f::kAnswered, kVarint):
      header->answered = in.Varint();
      return true;
    default:
      return false;
  }
}

// As in generated code, the last one counts.
void ReadRows(Reader& in, PushRequest* request) {
  const size_t bytes = in.Length();
  request->rows = bytes == 0 ? AlignedBytes() : AlignedBytes(bytes);
  in.Bytes(request->rows.data(), bytes);
}

// ---- writing ---------------------------------------------------------------------------------

size_t StepBytes(const PushStep& step) {
  size_t bytes = step.run == 0 ? 0 : 1 + sizeof(step.run);
  for (const uint64_t value : {static_cast<uint64_t>(step.step), Wide(step.rank),
                               Wide(step.world_size), Wide(step.chunk), Wide(step.chunks)}) {
    if (value != 0) bytes += 1 + VarintBytes(value);
  }
  return bytes;
}

std::byte* PutStep(const PushStep& step, std::byte* out) {
  namespace f = sync_step;
  out = PutLength(push_request::kStep, StepBytes(step), out);
  out = PutNumber(f::kStep, static_cast<uint64_t>(step.step), out);
  out = PutNumber(f::kRank, Wide(step.rank), out);
  out = PutNumber(f::kWorldSize, Wide(step.world_size), out);
  out = PutFixed64(f::kRun, step.run, out);
  out = PutNumber(f::kChunk, Wide(step.chunk), out);
  return PutNumber(f::kChunks, Wide(step.chunks), out);
}

// Up to the ids.
std::byte* PutHeader(const PushHeader& header, std::byte* out) {
  namespace f = push_request;
  out = PutNumber(f::kEdge, header.edge ? 1 : 0, out);
  if (!header.type.empty()) out = PutText(f::kType, header.type, out);
  if (!header.name.empty()) out = PutText(f::kName, header.name, out);
  out = PutNumber(f::kPart, header.part, out);
  out = PutNumber(f::kKind, header.kind, out);
  out = PutFixed64(f::kClient, header.client, out);
  out = PutNumber(f::kSequence, header.sequence, out);
  return header.step.has_value() ? PutStep(*header.step, out) : out;
}

// A message that grows within the room that it has reserved: one that is made at its full length is
// filled with zeros first, and a push's rows are megabytes.
class GrowingMessage {
 public:
  explicit GrowingMessage(size_t most) { message_.reserve(most); }

  void Append(const std::byte* bytes, size_t count) {
    message_.append(reinterpret_cast<const char*>(bytes), count);
  }
  // What `put` writes, at most `most` bytes: it gets where to, and gives the end.
  template <typename Put>
  void AppendSmall(size_t most, const Put& put) {
    const size_t before = message_.size();
    message_.resize(before + most);
    auto* const begin = reinterpret_cast<std::byte*>(message_.data()) + before;
    message_.resize(before + static_cast<size_t>(put(begin) - begin));
  }
  void AppendLength(uint32_t field, size_t length) {
    AppendSmall(2 * kLongestVarint, [&](std::byte* out) { return PutLength(field, length, out); });
  }
  [[nodiscard]] std::string Take() { return std::move(message_); }

 private:
  std::string message_;
};

void AppendRows(const PushRows& rows, GrowingMessage* message) {
  const size_t bytes = rows.ids.size() * rows.row_bytes;
  if (bytes == 0) return;
  message->AppendLength(push_request::kRows, bytes);
  if (rows.positions.empty()) return message->Append(rows.rows, bytes);
  for (const int64_t position : rows.positions) {
    message->Append(rows.rows + static_cast<size_t>(position) * rows.row_bytes, rows.row_bytes);
  }
}

}  // namespace

StatusOr<PushRequest> ReadPushRequest(Pieces pieces) {
  using enum WireType;
  namespace f = push_request;
  Reader in(pieces);
  const size_t bytes = in.left();
  PushRequest request;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kIds, kBytes):
        in.PackedFixed(&request.ids);
        break;
      case Tag(f::kIds, kFixed64):
        request.ids.push_back(static_cast<int64_t>(in.Fixed64()));
        break;
      case Tag(f::kRows, kBytes):
        ReadRows(in, &request);
        break;
      default:
        if (!ReadHeaderField(in, tag, &request.header)) in.SkipField(tag);
    }
  }
  if (!in.failed()) return request;
  return InvalidArgument("malformed request: {} bytes that are no halograph.v1.PushRequest", bytes);
}

std::string WritePushReply(const PushReply& reply) {
  namespace f = push_reply;
  std::string message(2 * (1 + kLongestVarint), '\0');
  auto* const begin = reinterpret_cast<std::byte*>(message.data());
  std::byte* out = PutNumber(f::kLsn, static_cast<uint64_t>(reply.lsn), begin);
  out = PutNumber(f::kAppliedBefore, reply.applied_before ? 1 : 0, out);
  message.resize(static_cast<size_t>(out - begin));
  return message;
}

size_t PushHeaderBytes(const PushHeader& header) {
  namespace f = push_request;
  constexpr size_t kNumbers = 8;  // edge, part, kind, client, sequence, dtype, the two at the end
  constexpr size_t kLengths = 2;  // before ids and rows
  return FieldBytes(f::kType, header.type.size()) + FieldBytes(f::kName, header.name.size()) +
         (kNumbers + kLengths) * (1 + kLongestVarint) +
         (header.step.has_value() ? FieldBytes(f::kStep, StepBytes(*header.step)) : 0);
}

std::string WritePushRequest(const PushHeader& header, const PushRows& rows) {
  namespace f = push_request;
  const size_t small = PushHeaderBytes(header);
  GrowingMessage message(small + rows.ids.size_bytes() + rows.ids.size() * rows.row_bytes);
  message.AppendSmall(small, [&](std::byte* out) { return PutHeader(header, out); });
  if (!rows.ids.empty()) {
    message.AppendLength(f::kIds, rows.ids.size_bytes());
    message.Append(reinterpret_cast<const std::byte*>(rows.ids.data()), rows.ids.size_bytes());
  }
  message.AppendSmall(2 * kLongestVarint,
                      [&](std::byte* out) { return PutNumber(f::kDType, header.dtype, out); });
  AppendRows(rows, &message);
  message.AppendSmall(2 * (1 + kLongestVarint), [&](std::byte* out) {
    out = PutNumber(f::kRegistered, header.registered ? 1 : 0, out);
    return PutNumber(f::kAnswered, header.answered, out);
  });
  return message.Take();
}

StatusOr<PushReply> ReadPushReply(Pieces pieces) {
  using enum WireType;
  namespace f = push_reply;
  Reader in(pieces);
  const size_t bytes = in.left();
  PushReply reply;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kLsn, kVarint):
        reply.lsn = static_cast<int64_t>(in.Varint());
        break;
      case Tag(f::kAppliedBefore, kVarint):
        reply.applied_before = in.Varint() != 0;
        break;
      default:
        in.SkipField(tag);
    }
  }
  if (!in.failed()) return reply;
  return DataLoss("the reply's {} bytes are no halograph.v1.PushReply", bytes);
}

}  // namespace halograph::wire
