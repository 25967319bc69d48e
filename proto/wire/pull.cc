#include "proto/wire/pull.h"

#include <algorithm>
#include <cstring>

#include <fmt/ranges.h>

#include "proto/wire/writer.h"

namespace halograph::wire {

namespace {

// Copies what is read into rows, wherever a run of it begins and ends.
class RowWriter {
 public:
  RowWriter(size_t row_bytes, std::span<const int64_t> positions, std::byte* destination)
      : row_bytes_(row_bytes), positions_(positions), destination_(destination) {}

  void Write(std::span<const std::byte> run) {
    if (positions_.empty()) {
      std::memcpy(destination_ + written_, run.data(), run.size());
      written_ += run.size();
      return;
    }
    while (!run.empty()) {
      const size_t take = std::min(row_bytes_ - offset_, run.size());
      const auto position = static_cast<size_t>(positions_[row_]);
      std::memcpy(destination_ + position * row_bytes_ + offset_, run.data(), take);
      run = run.subspan(take);
      offset_ += take;
      if (offset_ == row_bytes_) {
        offset_ = 0;
        ++row_;
      }
    }
  }

 private:
  const size_t row_bytes_;
  const std::span<const int64_t> positions_;
  std::byte* const destination_;
  size_t written_ = 0;  // without positions
  size_t row_ = 0;      // with positions: being written
  size_t offset_ = 0;   // bytes of it written
};

// The reply's fields before and beside the rows.
struct PullReplyHeader {
  uint64_t dtype = 0;
  std::vector<int64_t> shape;
};

Status CheckHeader(const PullReplyHeader& header, const PullReplyExpected& expected) {
  if (header.dtype != expected.dtype) {
    return DataLoss("PullReply: dtype {}, expected {} ({})", header.dtype, expected.dtype,
                    expected.dtype_name);
  }
  if (!std::equal(header.shape.begin(), header.shape.end(), expected.shape.begin(),
                  expected.shape.end())) {
    return DataLoss("PullReply: shape [{}], expected [{}]", fmt::join(header.shape, ", "),
                    fmt::join(expected.shape, ", "));
  }
  return OkStatus();
}

// The rows, which must be all that is expected, to their places.
Status ReadRows(Reader& in, const PullReplyExpected& expected, std::span<const int64_t> positions,
                std::byte* destination) {
  size_t left = in.Length();
  if (in.failed()) return OkStatus();  // said at the end
  if (left != expected.rows_bytes()) {
    return DataLoss("PullReply: {} bytes of rows, expected {} rows of {} bytes", left,
                    expected.shape[0], expected.row_bytes);
  }
  RowWriter rows(expected.row_bytes, positions, destination);
  while (left > 0) {
    const std::span<const std::byte> run = in.Run(left);
    rows.Write(run);
    left -= run.size();
  }
  return OkStatus();
}

}  // namespace

StatusOr<PullRequest> ReadPullRequest(Pieces pieces) {
  using enum WireType;
  namespace f = pull_request;
  Reader in(pieces);
  const size_t bytes = in.left();
  PullRequest request;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kEdge, kVarint):
        request.edge = in.Varint() != 0;
        break;
      case Tag(f::kType, kBytes):
        request.type = in.Text();
        break;
      case Tag(f::kName, kBytes):
        request.name = in.Text();
        break;
      case Tag(f::kIds, kBytes):
        in.PackedFixed(&request.ids);
        break;
      case Tag(f::kIds, kFixed64):
        request.ids.push_back(static_cast<int64_t>(in.Fixed64()));
        break;
      case Tag(f::kMinLsn, kVarint):
        request.min_lsn = static_cast<int64_t>(in.Varint());
        break;
      default:
        in.SkipField(tag);
    }
  }
  if (!in.failed()) return request;
  return InvalidArgument("malformed request: {} bytes that are no halograph.v1.PullRequest", bytes);
}

std::string WritePullRequest(bool edge, std::string_view type, std::string_view name,
                             std::span<const int64_t> ids, int64_t min_lsn) {
  namespace f = pull_request;
  std::string message(2 + FieldBytes(f::kType, type.size()) + FieldBytes(f::kName, name.size()) +
                          FieldBytes(f::kIds, ids.size_bytes()) + 1 + kLongestVarint,
                      '\0');
  auto* const begin = reinterpret_cast<std::byte*>(message.data());
  std::byte* out = begin;
  out = PutNumber(f::kEdge, edge ? 1 : 0, out);
  if (!type.empty()) out = PutText(f::kType, type, out);
  if (!name.empty()) out = PutText(f::kName, name, out);
  out = PutIds(f::kIds, ids, out);
  out = PutNumber(f::kMinLsn, static_cast<uint64_t>(min_lsn), out);
  message.resize(static_cast<size_t>(out - begin));
  return message;
}

Status ReadPullReply(Pieces pieces, const PullReplyExpected& expected,
                     std::span<const int64_t> positions, std::byte* destination) {
  using enum WireType;
  namespace f = pull_reply;
  Reader in(pieces);
  const size_t bytes = in.left();
  PullReplyHeader header;
  bool rows_seen = false;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(f::kDType, kVarint):
        header.dtype = in.Varint();
        break;
      case Tag(f::kShape, kBytes):
        in.PackedInt64(&header.shape, kExtents);
        break;
      case Tag(f::kShape, kVarint):
        header.shape.push_back(static_cast<int64_t>(in.Varint()));
        break;
      case Tag(f::kRows, kBytes):
        HG_RETURN_IF_ERROR(CheckHeader(header, expected));
        if (rows_seen) return DataLoss("PullReply: rows twice");
        rows_seen = true;
        HG_RETURN_IF_ERROR(ReadRows(in, expected, positions, destination));
        break;
      default:
        in.SkipField(tag);
    }
    if (header.shape.size() > kExtents)
      return DataLoss("PullReply: a shape of more than two extents");
  }
  if (in.failed()) return DataLoss("the reply's {} bytes are no halograph.v1.PullReply", bytes);
  HG_RETURN_IF_ERROR(CheckHeader(header, expected));
  if (rows_seen || expected.rows_bytes() == 0) return OkStatus();
  return DataLoss("PullReply: no rows, expected {}", expected.shape[0]);
}

std::byte* PutPullReplyHeader(uint32_t dtype, std::span<const int64_t> shape, size_t rows_bytes,
                              std::byte* out) {
  namespace f = pull_reply;
  out = PutVarint(dtype, PutTag(f::kDType, WireType::kVarint, out));
  out = PutPacked(f::kShape, shape, out);
  return rows_bytes == 0 ? out : PutLength(f::kRows, rows_bytes, out);
}

}  // namespace halograph::wire
