// Writes the parts of messages into memory that its caller has made large enough. Each function
// gives the end of what it wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "proto/wire/fields.h"

namespace halograph::wire {

inline constexpr size_t kLongestVarint = 10;

constexpr size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

inline std::byte* PutVarint(uint64_t value, std::byte* out) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<std::byte>((value & 0x7f) | 0x80);
  *out++ = static_cast<std::byte>(value);
  return out;
}

template <typename T>
std::byte* PutFixed(T value, std::byte* out) {
  std::memcpy(out, &value, sizeof(value));
  return out + sizeof(value);
}

inline std::byte* PutTag(uint32_t field, WireType type, std::byte* out) {
  return PutVarint(Tag(field, type), out);
}

// Fields of a number; 0, which is what a reader takes for none, is not written.
inline std::byte* PutNumber(uint32_t field, uint64_t value, std::byte* out) {
  return value == 0 ? out : PutVarint(value, PutTag(field, WireType::kVarint, out));
}
inline std::byte* PutFixed64(uint32_t field, uint64_t value, std::byte* out) {
  return value == 0 ? out : PutFixed(value, PutTag(field, WireType::kFixed64, out));
}

// What stands before `length` bytes of a field.
inline std::byte* PutLength(uint32_t field, size_t length, std::byte* out) {
  return PutVarint(length, PutTag(field, WireType::kBytes, out));
}

// Of a field of `length` bytes, with what stands before them.
constexpr size_t FieldBytes(uint32_t field, size_t length) {
  return VarintBytes(Tag(field, WireType::kBytes)) + VarintBytes(length) + length;
}

inline std::byte* PutBytes(std::span<const std::byte> bytes, std::byte* out) {
  if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
  return out + bytes.size();
}

inline std::byte* PutText(uint32_t field, std::string_view text, std::byte* out) {
  return PutBytes(std::as_bytes(std::span(text)), PutLength(field, text.size(), out));
}

// A packed field of numbers of 64 bits; nothing if there are none.
inline std::byte* PutIds(uint32_t field, std::span<const int64_t> ids, std::byte* out) {
  return ids.empty() ? out : PutBytes(std::as_bytes(ids), PutLength(field, ids.size_bytes(), out));
}

// Of such a field.
inline size_t IdsBytes(uint32_t field, std::span<const int64_t> ids) {
  return ids.empty() ? 0 : FieldBytes(field, ids.size_bytes());
}

// A packed field of the same in 4 bytes each; nothing if there are none. Requires ids below 2^32.
inline std::byte* PutNarrow(uint32_t field, std::span<const int64_t> ids, std::byte* out) {
  if (ids.empty()) return out;
  out = PutLength(field, ids.size() * sizeof(uint32_t), out);
  for (const int64_t id : ids) out = PutFixed(static_cast<uint32_t>(id), out);
  return out;
}

// A packed field of varints, none below 0; nothing if there are none.
template <typename T>
size_t VarintsBytes(std::span<const T> values) {
  size_t bytes = 0;
  for (const T value : values) bytes += VarintBytes(static_cast<uint64_t>(value));
  return bytes;
}
template <typename T>
std::byte* PutVarints(uint32_t field, std::span<const T> values, std::byte* out) {
  if (values.empty()) return out;
  out = PutLength(field, VarintsBytes(values), out);
  for (const T value : values) out = PutVarint(static_cast<uint64_t>(value), out);
  return out;
}
// Of such a field.
template <typename T>
size_t VarintsFieldBytes(uint32_t field, std::span<const T> values) {
  return values.empty() ? 0 : FieldBytes(field, VarintsBytes(values));
}

// Of an id behind `last` (0 before the first) in a field of ascending ids that travel as
// differences.
constexpr size_t DeltaBytes(int64_t last, int64_t id) {
  return VarintBytes(static_cast<uint64_t>(id) - static_cast<uint64_t>(last));
}
// A packed field of ascending ids, of which the first and then the differences are written as
// varints; nothing if there are none.
inline size_t DeltasBytes(std::span<const int64_t> ids) {
  size_t bytes = 0;
  int64_t last = 0;
  for (const int64_t id : ids) bytes += DeltaBytes(std::exchange(last, id), id);
  return bytes;
}
// Of such a field.
inline size_t DeltasFieldBytes(uint32_t field, std::span<const int64_t> ids) {
  return ids.empty() ? 0 : FieldBytes(field, DeltasBytes(ids));
}
inline std::byte* PutDeltas(uint32_t field, std::span<const int64_t> ids, std::byte* out) {
  if (ids.empty()) return out;
  out = PutLength(field, DeltasBytes(ids), out);
  uint64_t last = 0;
  for (const int64_t id : ids) {
    const auto next = static_cast<uint64_t>(id);
    out = PutVarint(next - std::exchange(last, next), out);
  }
  return out;
}

// A packed field of varints.
inline std::byte* PutPacked(uint32_t field, std::span<const int64_t> values, std::byte* out) {
  size_t length = 0;
  for (const int64_t value : values) length += VarintBytes(static_cast<uint64_t>(value));
  out = PutLength(field, length, out);
  for (const int64_t value : values) out = PutVarint(static_cast<uint64_t>(value), out);
  return out;
}

}  // namespace halograph::wire
