// SampleReply (proto/halograph/v1/graph.proto), written by servers and read by clients: the message
// that sampling spends its bytes in. The bytes are exactly what generated code writes and reads.
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "proto/wire/reader.h"

namespace halograph::wire {

// Drawn edges of the first destinations of a group, those of one after those of the other.
struct SampleGroupReply {
  std::vector<uint32_t> counts;   // edges of each destination
  std::vector<int64_t> sources;   // global ids
  std::vector<int64_t> edge_ids;  // one a source, or none
  std::vector<float> weights;     // one a source, or none
  std::vector<int64_t> degrees;   // one a count, or none
  uint64_t more_edges = 0;        // of the last destination: behind those given
};

// What a client asked for, which bounds what it takes.
struct SampleGroupExpected {
  size_t destinations = 0;   // counts at most
  int32_t fanout = -1;       // edges of one destination at most; negative: any number
  int64_t source_nodes = 0;  // sources are below
  int64_t edges = 0;         // of the relation: edge ids are below
  bool edge_ids = false;
  bool weights = false;
  bool degrees = false;
  bool pieces = false;  // the last destination answered may have more edges

  // Ids of the source type take 8 bytes on the wire instead of 4.
  [[nodiscard]] bool wide() const { return source_nodes > (int64_t{1} << 32); }
};

// Reads the reply into `groups`, which is overwritten: as many as the reply has, complete but for
// the last, which may have fewer counts than destinations, and of its last destination a piece. A
// reply may answer nothing. On error
// `groups` holds anything.
//   DataLoss  bytes that are no such message; or groups, counts, sources, edge ids, weights or
//             degrees that do not fit what was asked for: the group, what was found and what was
//             expected are named
[[nodiscard]] Status ReadSampleReply(Pieces pieces, std::span<const SampleGroupExpected> expected,
                                     std::vector<SampleGroupReply>* groups);

// One group to be written: all but the arrays' contents is known.
struct SampleGroupShape {
  std::span<const uint32_t> counts;
  int64_t edges = 0;  // their sum
  bool wide = false;
  bool edge_ids = false;
  bool weights = false;
  bool degrees = false;
  uint64_t more_edges = 0;  // of the last destination: behind those given

  [[nodiscard]] size_t source_bytes() const {
    return static_cast<size_t>(edges) * (wide ? sizeof(uint64_t) : sizeof(uint32_t));
  }
  [[nodiscard]] size_t edge_id_bytes() const {
    return edge_ids ? static_cast<size_t>(edges) * sizeof(uint64_t) : 0;
  }
  [[nodiscard]] size_t weight_bytes() const {
    return weights ? static_cast<size_t>(edges) * sizeof(float) : 0;
  }
  [[nodiscard]] size_t degree_bytes() const {
    return degrees ? counts.size() * sizeof(uint64_t) : 0;
  }
};

// Bytes of the group in a reply, with what stands before it.
[[nodiscard]] size_t SampleGroupReplyBytes(const SampleGroupShape& group);
// Tags and lengths of a group of at most 2^31 bytes, beside counts and arrays: at most.
inline constexpr int64_t kSampleGroupReplyOverhead = 6;
inline constexpr int64_t kSampleGroupReplyArrayOverhead = 6;  // for each array that it has
inline constexpr int64_t kSampleGroupReplyMoreOverhead = 11;  // if its last destination has more

// Where the group's arrays belong, little-endian and not aligned; null for what it does not have.
struct SampleGroupArrays {
  std::byte* sources = nullptr;   // of 4 or 8 bytes
  std::byte* edge_ids = nullptr;  // of 8
  std::byte* weights = nullptr;   // float
  std::byte* degrees = nullptr;   // of 8, one a destination
  std::byte* end = nullptr;       // of the group
};
// Writes all of the group but its arrays. Requires SampleGroupReplyBytes of room.
[[nodiscard]] SampleGroupArrays PutSampleGroupReply(const SampleGroupShape& group, std::byte* out);

}  // namespace halograph::wire
