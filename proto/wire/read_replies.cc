#include "proto/wire/read_replies.h"

#include "proto/wire/writer.h"

namespace halograph::wire {

namespace {

// As in generated code, the last one counts.
BytesField ReadBytes(Reader& in) {
  BytesField field;
  field.size = in.Length();
  field.runs = in.Runs(field.size);
  return field;
}

void ReadTensor(Reader& in, TensorField* array) {
  using enum WireType;
  namespace f = tensor;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kName, kBytes):
        array->name = in.Text();
        break;
      case Tag(f::kDType, kVarint):
        array->dtype = static_cast<uint32_t>(in.Varint());
        break;
      case Tag(f::kShape, kBytes):
        in.PackedInt64(&array->shape, kExtents);
        break;
      case Tag(f::kShape, kVarint):
        array->shape.push_back(static_cast<int64_t>(in.Varint()));
        break;
      case Tag(f::kData, kBytes):
        array->data = ReadBytes(in);
        break;
      default:
        in.SkipField(tag);
    }
    if (array->shape.size() > kExtents) return in.Fail();
  }
}

}  // namespace

StatusOr<TopologyReply> ReadTopologyReply(Pieces pieces) {
  using enum WireType;
  namespace f = topology_reply;
  Reader in(pieces);
  const size_t bytes = in.left();
  TopologyReply reply;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kFileBytes, kVarint):
        reply.file_bytes = static_cast<int64_t>(in.Varint());
        break;
      case Tag(f::kData, kBytes):
        reply.data = ReadBytes(in);
        break;
      default:
        in.SkipField(tag);
    }
  }
  if (!in.failed()) return reply;
  return DataLoss("the reply's {} bytes are no halograph.v1.ReadTopologyReply", bytes);
}

std::byte* PutTopologyReplyHeader(int64_t file_bytes, size_t data_bytes, std::byte* out) {
  namespace f = topology_reply;
  out = PutNumber(f::kFileBytes, static_cast<uint64_t>(file_bytes), out);
  return data_bytes == 0 ? out : PutLength(f::kData, data_bytes, out);
}

StatusOr<TaskSetReply> ReadTaskSetReply(Pieces pieces, size_t max_arrays) {
  using enum WireType;
  namespace f = task_set_reply;
  Reader in(pieces);
  const size_t bytes = in.left();
  TaskSetReply reply;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kTotalRows, kVarint):
        reply.total_rows = static_cast<int64_t>(in.Varint());
        break;
      case Tag(f::kRows, kVarint):
        reply.rows = static_cast<int64_t>(in.Varint());
        break;
      case Tag(f::kArrays, kBytes):
        if (reply.arrays.size() == max_arrays) {
          return DataLoss("ReadTaskSetReply: more arrays than the {} expected", max_arrays);
        }
        in.Message([&] { ReadTensor(in, &reply.arrays.emplace_back()); });
        break;
      default:
        in.SkipField(tag);
    }
  }
  if (!in.failed()) return reply;
  return DataLoss("the reply's {} bytes are no halograph.v1.ReadTaskSetReply", bytes);
}

std::string TaskSetReplyHeader(int64_t total_rows, int64_t rows) {
  namespace f = task_set_reply;
  std::string header(2 * (1 + kLongestVarint), '\0');
  auto* const begin = reinterpret_cast<std::byte*>(header.data());
  std::byte* out = begin;
  out = PutNumber(f::kTotalRows, static_cast<uint64_t>(total_rows), out);
  out = PutNumber(f::kRows, static_cast<uint64_t>(rows), out);
  header.resize(static_cast<size_t>(out - begin));
  return header;
}

std::string TaskSetArrayHeader(std::string_view name, uint32_t dtype,
                               std::span<const int64_t> shape, size_t data_bytes) {
  namespace f = tensor;
  // The tensor's own fields first: its length comes before them.
  std::string body(FieldBytes(f::kName, name.size()) + (2 + kExtents) * (1 + kLongestVarint) +
                       2 * (1 + kLongestVarint),
                   '\0');
  auto* const begin = reinterpret_cast<std::byte*>(body.data());
  std::byte* out = PutText(f::kName, name, begin);
  out = PutVarint(dtype, PutTag(f::kDType, WireType::kVarint, out));
  out = PutPacked(f::kShape, shape, out);
  if (data_bytes > 0) out = PutLength(f::kData, data_bytes, out);
  body.resize(static_cast<size_t>(out - begin));
  std::string header(1 + kLongestVarint, '\0');
  auto* const start = reinterpret_cast<std::byte*>(header.data());
  out = PutLength(task_set_reply::kArrays, body.size() + data_bytes, start);
  header.resize(static_cast<size_t>(out - start));
  return header + body;
}

}  // namespace halograph::wire
