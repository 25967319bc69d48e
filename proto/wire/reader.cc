#include "proto/wire/reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace halograph::wire {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers travel as they lie");

constexpr ptrdiff_t kVarintRoom = 10;
constexpr int kDeepestGroup = 64;

// Widens `count` ids that lie at `from`, at any alignment.
void Widen(const std::byte* from, size_t count, int64_t* to) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t id = 0;
    std::memcpy(&id, from + i * sizeof(id), sizeof(id));
    to[i] = id;
  }
}

}  // namespace

Reader::Reader(Pieces pieces) : pieces_(pieces) {
  for (const std::span<const std::byte> piece : pieces) beyond_ += piece.size();
  Refill();
}

void Reader::Fail() {
  failed_ = true;
  at_ = end_ = nullptr;
  beyond_ = rest_ = 0;
}

bool Reader::Refill() {
  while (at_ == end_) {
    if (beyond_ == 0) return false;
    const std::span<const std::byte> piece = pieces_.front();
    pieces_ = pieces_.subspan(1);
    const size_t taken = std::min(piece.size(), beyond_);
    at_ = piece.data();
    end_ = at_ + taken;
    beyond_ -= taken;
    rest_ = piece.size() - taken;
  }
  return true;
}

uint32_t Reader::NextTag() {
  if (left() == 0) return 0;
  const uint64_t tag = Varint();
  if (tag > std::numeric_limits<uint32_t>::max() || tag >> 3 == 0) Fail();
  return failed_ ? 0 : static_cast<uint32_t>(tag);
}

uint64_t Reader::Varint() {
  if (end_ - at_ < kVarintRoom) return SlowVarint();
  uint64_t value = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    const auto byte = static_cast<uint8_t>(*at_++);
    value |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  const auto last = static_cast<uint8_t>(*at_++);
  if (last > 1) Fail();  // longer than 64 bits
  return failed_ ? 0 : value | uint64_t{last} << 63;
}

uint64_t Reader::SlowVarint() {
  uint64_t value = 0;
  for (int shift = 0; shift <= 63; shift += 7) {
    if (at_ == end_ && !Refill()) break;
    const auto byte = static_cast<uint8_t>(*at_++);
    if (shift == 63 && byte > 1) break;
    value |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  Fail();
  return 0;
}

uint64_t Reader::Fixed64() {
  uint64_t value = 0;
  if (left() < sizeof(value)) {
    Fail();
  } else {
    Bytes(&value, sizeof(value));
  }
  return value;
}

uint32_t Reader::Fixed32() {
  uint32_t value = 0;
  if (left() < sizeof(value)) {
    Fail();
  } else {
    Bytes(&value, sizeof(value));
  }
  return value;
}

size_t Reader::Length() {
  const uint64_t length = Varint();
  if (length <= left()) return static_cast<size_t>(length);
  Fail();
  return 0;
}

std::string Reader::Text() {
  std::string text(Length(), '\0');
  Bytes(text.data(), text.size());
  return text;
}

void Reader::Bytes(void* out, size_t bytes) {
  auto* to = static_cast<std::byte*>(out);
  while (bytes > 0) {
    const std::span<const std::byte> run = Run(bytes);
    std::memcpy(to, run.data(), run.size());
    to += run.size();
    bytes -= run.size();
  }
}

void Reader::Skip(size_t bytes) {
  while (bytes > 0) bytes -= Run(bytes).size();
}

std::span<const std::byte> Reader::Run(size_t most) {
  if (at_ == end_ && !Refill()) return {};
  const size_t size = std::min(most, static_cast<size_t>(end_ - at_));
  const std::byte* const begin = at_;
  at_ += size;
  return {begin, size};
}

std::vector<std::span<const std::byte>> Reader::Runs(size_t bytes) {
  std::vector<std::span<const std::byte>> runs;
  while (bytes > 0) {
    runs.push_back(Run(bytes));
    bytes -= runs.back().size();
  }
  return runs;
}

void Reader::PackedUint32(std::vector<uint32_t>* out) {
  constexpr uint64_t kContinued = 0x8080808080808080;
  const size_t length = Length();
  const size_t outer = Enter(length);
  const size_t before = out->size();
  out->resize(before + length);  // one byte each at least
  uint32_t* to = out->data() + before;
  while (left() > 0) {
    uint64_t eight = kContinued;
    if (end_ - at_ >= 8) std::memcpy(&eight, at_, sizeof(eight));
    if ((eight & kContinued) != 0) {
      *to++ = static_cast<uint32_t>(Varint());
      continue;
    }
    for (int i = 0; i < 8; ++i) *to++ = static_cast<uint8_t>(at_[i]);
    at_ += sizeof(eight);
  }
  out->resize(static_cast<size_t>(to - out->data()));
  Leave(outer);
}

void Reader::PackedNarrow(std::vector<int64_t>* out) {
  constexpr size_t kBytes = sizeof(uint32_t);
  size_t left = Length();
  if (left % kBytes != 0) return Fail();
  const size_t before = out->size();
  out->resize(before + left / kBytes);
  int64_t* to = out->data() + before;
  while (left > 0) {
    const std::span<const std::byte> run = Run(left);
    const size_t whole = run.size() / kBytes;
    Widen(run.data(), whole, to);
    to += whole;
    left -= run.size();
    const std::span<const std::byte> cut = run.subspan(whole * kBytes);  // an id's first bytes
    if (cut.empty()) continue;
    uint32_t id = 0;
    std::memcpy(&id, cut.data(), cut.size());
    Bytes(reinterpret_cast<std::byte*>(&id) + cut.size(), kBytes - cut.size());
    left -= kBytes - cut.size();
    *to++ = id;
  }
}

void Reader::SkipField(uint32_t tag) { SkipField(tag, 0); }

void Reader::SkipField(uint32_t tag, int depth) {
  switch (static_cast<WireType>(tag & 7)) {
    case WireType::kVarint:
      static_cast<void>(Varint());
      return;
    case WireType::kFixed64:
      static_cast<void>(Fixed64());
      return;
    case WireType::kBytes:
      return Skip(Length());
    case WireType::kGroupStart:
      return SkipGroup(tag >> 3, depth + 1);
    case WireType::kFixed32:
      static_cast<void>(Fixed32());
      return;
    default:  // an end without a start; 6 and 7 are none
      return Fail();
  }
}

void Reader::SkipGroup(uint32_t field, int depth) {
  if (depth > kDeepestGroup) return Fail();
  for (uint32_t tag = NextTag(); tag != 0; tag = NextTag()) {
    if (tag == Tag(field, WireType::kGroupEnd)) return;
    SkipField(tag, depth);
  }
  Fail();  // the message ends within the group
}

size_t Reader::Enter(size_t length) {
  const size_t outer = left() - length;
  const auto together = static_cast<size_t>(end_ - at_);
  if (length <= together) {
    rest_ += together - length;
    end_ = at_ + length;
    beyond_ = 0;
  } else {
    beyond_ = length - together;
  }
  return outer;
}

void Reader::Leave(size_t outer) {
  if (failed_) return;
  Skip(left());
  const size_t together = std::min(rest_, outer);
  end_ += together;
  rest_ -= together;
  beyond_ = outer - together;
}

}  // namespace halograph::wire
