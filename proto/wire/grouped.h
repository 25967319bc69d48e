// Messages that are a list of groups: what all requests and replies of column questions
// (ColumnSums, Extract) have in common. How a group is read, checked and written stands with its
// message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "proto/wire/reader.h"
#include "proto/wire/writer.h"

namespace halograph::wire {

// Their fields have the same numbers in all of them: each source asserts it.
inline constexpr uint32_t kGroupsField = 1;
inline constexpr uint32_t kMaxBytesField = 2;

// Reads `groups` and `max_bytes` of a Request by read_group(reader, group). Of more than
// `max_groups` groups no more than one beyond is kept, for the handler to refuse. InvalidArgument
// if the bytes are no message of this name.
template <typename Request, typename ReadGroup>
[[nodiscard]] StatusOr<Request> ReadGroupedRequest(Pieces pieces, size_t max_groups,
                                                   std::string_view message,
                                                   const ReadGroup& read_group) {
  Reader in(pieces);
  const size_t bytes = in.left();
  Request request;
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    switch (tag) {
      case Tag(kGroupsField, WireType::kBytes):
        if (request.groups.size() > max_groups) request.groups.pop_back();
        in.Message([&] { read_group(in, &request.groups.emplace_back()); });
        break;
      case Tag(kMaxBytesField, WireType::kVarint):
        request.max_bytes = static_cast<int64_t>(in.Varint());
        break;
      default:
        in.SkipField(tag);
    }
  }
  if (!in.failed()) return request;
  return InvalidArgument("malformed request: {} bytes that are no halograph.v1.{}", bytes, message);
}

// `body_bytes(group)` is what put_body(group, out) writes.
template <typename View, typename BodyBytes, typename PutBody>
[[nodiscard]] std::string WriteGroupedRequest(std::span<const View> groups, int64_t max_bytes,
                                              const BodyBytes& body_bytes,
                                              const PutBody& put_body) {
  size_t bytes = 1 + kLongestVarint;  // at most, so far
  for (const View& group : groups) bytes += FieldBytes(kGroupsField, body_bytes(group));
  std::string message(bytes, '\0');
  auto* const begin = reinterpret_cast<std::byte*>(message.data());
  std::byte* out = begin;
  for (const View& group : groups) {
    out = put_body(group, PutLength(kGroupsField, body_bytes(group), out));
  }
  out = PutNumber(kMaxBytesField, static_cast<uint64_t>(max_bytes), out);
  message.resize(static_cast<size_t>(out - begin));
  return message;
}

// Overwrites `groups`: at most one for each that is expected, in order. check(group, expected,
// last) says what is wrong with one. DataLoss naming the message and the group.
template <typename Group, typename Expected, typename ReadGroup, typename Check>
[[nodiscard]] Status ReadGroupedReply(Pieces pieces, std::span<const Expected> expected,
                                      std::string_view message, std::vector<Group>* groups,
                                      const ReadGroup& read_group, const Check& check) {
  Reader in(pieces);
  const size_t bytes = in.left();
  groups->clear();
  for (uint32_t tag = in.NextTag(); tag != 0; tag = in.NextTag()) {
    if (tag != Tag(kGroupsField, WireType::kBytes)) {
      in.SkipField(tag);
      continue;
    }
    if (groups->size() == expected.size()) {
      return DataLoss("{}: more groups than the {} asked for", message, expected.size());
    }
    in.Message([&] { read_group(in, &groups->emplace_back()); });
  }
  if (in.failed()) {
    return DataLoss("the reply's {} bytes are no halograph.v1.{}", bytes, message);
  }
  for (size_t g = 0; g < groups->size(); ++g) {
    const Status status = check((*groups)[g], expected[g], g + 1 == groups->size());
    if (status.ok()) continue;
    return Annotate(status, fmt::format("{}: group {} of {}", message, g, groups->size()));
  }
  return OkStatus();
}

}  // namespace halograph::wire
