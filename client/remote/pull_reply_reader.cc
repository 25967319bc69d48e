#include "client/remote/pull_reply_reader.h"

#include <algorithm>
#include <cstring>

#include <fmt/ranges.h>

namespace halograph {

namespace {

constexpr uint32_t kVarintType = 0;
constexpr uint32_t kFixed64Type = 1;
constexpr uint32_t kLengthType = 2;
constexpr uint32_t kFixed32Type = 5;

constexpr uint32_t kDTypeField = 1;
constexpr uint32_t kShapeField = 2;
constexpr uint32_t kRowsField = 3;

}  // namespace

PullReplyReader::PullReplyReader(const TensorSpec& spec, int64_t rows,
                                 std::span<const int64_t> positions, std::byte* destination)
    : spec_(spec), rows_(rows), positions_(positions), destination_(destination) {}

Status PullReplyReader::Consume(std::span<const std::byte> piece) {
  while (!piece.empty()) {
    size_t used = 1;
    if (state_ == State::kRows || state_ == State::kSkip) {
      used = static_cast<size_t>(std::min<uint64_t>(left_, piece.size()));
      if (state_ == State::kRows) used = Scatter(piece.first(used));
      left_ -= used;
      if (left_ == 0) state_ = State::kTag;
    } else {
      HG_RETURN_IF_ERROR(Byte(static_cast<uint8_t>(piece[0])));
    }
    piece = piece.subspan(used);
  }
  return OkStatus();
}

// One byte of a tag, a varint, a length or a packed shape.
Status PullReplyReader::Byte(uint8_t byte) {
  if (state_ == State::kShape) --left_;
  HG_ASSIGN_OR_RETURN(const bool complete, AddToVarint(byte));
  if (!complete) {
    if (state_ == State::kShape && left_ == 0) return DataLoss("PullReply: shape is cut");
    return OkStatus();
  }
  switch (state_) {
    case State::kTag:
      return StartField();
    case State::kVarint:
      return EndVarint();
    case State::kLength:
      return StartBytes();
    case State::kShape:
      if (left_ == 0) state_ = State::kTag;
      return AddShape(std::exchange(value_, 0));
    default:
      return Internal("PullReply: reader in state {}", static_cast<int>(state_));
  }
}

StatusOr<bool> PullReplyReader::AddToVarint(uint8_t byte) {
  if (shift_ > 63 || (shift_ == 63 && byte > 1)) {
    return DataLoss("PullReply: a number is longer than 64 bits");
  }
  value_ |= uint64_t{byte & 0x7fU} << shift_;
  shift_ += 7;
  if ((byte & 0x80U) != 0) return false;
  shift_ = 0;
  return true;
}

Status PullReplyReader::StartField() {
  const uint64_t tag = std::exchange(value_, 0);
  field_ = static_cast<uint32_t>(tag >> 3);
  wire_type_ = static_cast<uint32_t>(tag & 7);
  if (tag > UINT32_MAX || field_ == 0) return DataLoss("PullReply: {} is no field tag", tag);
  const bool wrong_type =
      (field_ == kDTypeField && wire_type_ != kVarintType) ||
      (field_ == kRowsField && wire_type_ != kLengthType) ||
      (field_ == kShapeField && wire_type_ != kLengthType && wire_type_ != kVarintType);
  if (wrong_type) return DataLoss("PullReply: field {} has wire type {}", field_, wire_type_);
  switch (wire_type_) {
    case kVarintType:
      state_ = State::kVarint;
      return OkStatus();
    case kLengthType:
      state_ = State::kLength;
      return OkStatus();
    case kFixed64Type:
    case kFixed32Type:
      left_ = wire_type_ == kFixed64Type ? 8 : 4;
      state_ = State::kSkip;
      return OkStatus();
    default:
      return DataLoss("PullReply: field {} has wire type {}", field_, wire_type_);
  }
}

Status PullReplyReader::EndVarint() {
  state_ = State::kTag;
  const uint64_t value = std::exchange(value_, 0);
  if (field_ == kDTypeField) dtype_ = value;
  return field_ == kShapeField ? AddShape(value) : OkStatus();
}

Status PullReplyReader::StartBytes() {
  left_ = std::exchange(value_, 0);
  state_ = State::kTag;
  if (field_ == kRowsField) {
    HG_RETURN_IF_ERROR(CheckHeader());
    const uint64_t expected = static_cast<uint64_t>(rows_) * spec_.row_bytes();
    if (left_ != expected) {
      return DataLoss("PullReply: {} bytes of rows, expected {} rows of {} bytes", left_, rows_,
                      spec_.row_bytes());
    }
    if (rows_seen_) return DataLoss("PullReply: rows twice");
    rows_seen_ = true;
  }
  if (left_ == 0) return OkStatus();
  state_ = field_ == kRowsField    ? State::kRows
           : field_ == kShapeField ? State::kShape
                                   : State::kSkip;
  return OkStatus();
}

Status PullReplyReader::AddShape(uint64_t extent) {
  if (shape_.size() == 2) return DataLoss("PullReply: a shape of more than two extents");
  shape_.push_back(extent);
  return OkStatus();
}

Status PullReplyReader::CheckHeader() const {
  if (dtype_ != static_cast<uint64_t>(spec_.dtype)) {
    return DataLoss("PullReply: dtype {}, expected {} ({})", dtype_, static_cast<int>(spec_.dtype),
                    DTypeName(spec_.dtype));
  }
  std::vector<uint64_t> expected = {static_cast<uint64_t>(rows_)};
  if (spec_.rank == 2) expected.push_back(static_cast<uint64_t>(spec_.dim));
  if (shape_ != expected) {
    return DataLoss("PullReply: shape [{}], expected [{}]", fmt::join(shape_, ", "),
                    fmt::join(expected, ", "));
  }
  return OkStatus();
}

// Writes what of `piece` is rows; all of it, since StartBytes bounded left_ by the rows expected.
size_t PullReplyReader::Scatter(std::span<const std::byte> piece) {
  const size_t row_bytes = spec_.row_bytes();
  if (positions_.empty()) {
    const size_t offset = static_cast<size_t>(row_) * row_bytes + row_offset_;
    std::memcpy(destination_ + offset, piece.data(), piece.size());
    row_ = static_cast<int64_t>((offset + piece.size()) / row_bytes);
    row_offset_ = (offset + piece.size()) % row_bytes;
    return piece.size();
  }
  const std::byte* from = piece.data();
  const std::byte* const end = from + piece.size();
  while (from < end) {
    const size_t take = std::min(row_bytes - row_offset_, static_cast<size_t>(end - from));
    const auto position = static_cast<size_t>(positions_[static_cast<size_t>(row_)]);
    std::memcpy(destination_ + position * row_bytes + row_offset_, from, take);
    from += take;
    row_offset_ += take;
    if (row_offset_ == row_bytes) {
      row_offset_ = 0;
      ++row_;
    }
  }
  return piece.size();
}

Status PullReplyReader::Finish() const {
  if (state_ != State::kTag || shift_ != 0) return DataLoss("PullReply: the message is cut");
  HG_RETURN_IF_ERROR(CheckHeader());
  if (!rows_seen_ && rows_ > 0 && spec_.row_bytes() > 0) {
    return DataLoss("PullReply: no rows, expected {}", rows_);
  }
  return OkStatus();
}

}  // namespace halograph
