// ColumnSumsRequest and ColumnSumsReply (proto/halograph/v1/graph.proto), written and read by
// clients and servers: the bytes are exactly what generated code writes and reads. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "proto/wire/reader.h"

namespace halograph::wire {

// ---- the request -----------------------------------------------------------------------------

struct ColumnPage {
  uint32_t part = 0;
  int64_t source_begin = 0;
  int64_t source_end = 0;
  bool operator==(const ColumnPage&) const = default;
};

// As a server reads it.
struct ColumnSumsGroup {
  std::string relation;               // source:name:destination
  uint32_t value = 0;                 // ColumnValue, or one that this version does not know
  std::vector<int64_t> destinations;  // global ids; those beyond 2^63 come out negative: no id is
  std::optional<ColumnPage> page = {};
  int64_t from_source = 0;     // only candidates at or above it
  bool source_deltas = false;  // the reply carries differences of sources
};

struct ColumnSumsRequest {
  std::vector<ColumnSumsGroup> groups;
  int64_t max_bytes = 0;  // of the reply; 0: as many as the server's limit allows
};

// Unknown fields are skipped. Of more than `max_groups` groups no more than one beyond is kept, for
// the handler to refuse. InvalidArgument if the bytes are no such message.
[[nodiscard]] StatusOr<ColumnSumsRequest> ReadColumnSumsRequest(Pieces pieces, size_t max_groups);

// The same as a client writes it, borrowed.
struct ColumnSumsGroupView {
  std::string_view relation;
  uint32_t value = 0;
  std::span<const int64_t> destinations = {};
  std::optional<ColumnPage> page = {};
  int64_t from_source = 0;
  bool source_deltas = false;
};

[[nodiscard]] std::string WriteColumnSumsRequest(std::span<const ColumnSumsGroupView> groups,
                                                 int64_t max_bytes);

// ---- the reply -------------------------------------------------------------------------------

// As a client reads it: of the first candidates of a group.
struct ColumnSumsGroupReply {
  std::vector<int64_t> sources;  // global ids, ascending
  std::vector<uint64_t> sums;    // one a source, above 0
  bool more = false;             // candidates behind the last source are missing
};

// What a client asked for, which bounds what it takes.
struct ColumnSumsExpected {
  int64_t source_nodes = 0;  // of the source type
  int64_t source_begin = 0;  // sources are in [source_begin, source_end)
  int64_t source_end = 0;
};

// Reads the reply into `groups`, which is overwritten: as many as the reply has, complete but for
// the last. A reply may answer nothing. On error `groups` holds anything.
//   DataLoss  bytes that are no such message; or groups, sources or sums that do not fit what was
//             asked for: the group, what was found and what was expected are named
// Sources may come as ids or as differences, whatever was asked for: an older server knows no
// differences.
[[nodiscard]] Status ReadColumnSumsReply(Pieces pieces,
                                         std::span<const ColumnSumsExpected> expected,
                                         std::vector<ColumnSumsGroupReply>* groups);

// As a server writes it.
struct ColumnSumsGroupShape {
  std::span<const int64_t> sources;
  std::span<const uint64_t> sums;
  bool wide = false;  // sources take 8 bytes each instead of 4
  bool more = false;
  bool deltas = false;  // sources travel as differences, and `wide` says nothing
};

// Bytes of the group in a reply, with what stands before it.
[[nodiscard]] size_t ColumnSumsGroupBytes(const ColumnSumsGroupShape& group);
// What a group of at most 2^31 bytes takes beside sources and sums: at most.
inline constexpr int64_t kColumnSumsGroupOverhead = 20;
// Writes the group; gives the end. Requires ColumnSumsGroupBytes of room.
[[nodiscard]] std::byte* PutColumnSumsGroup(const ColumnSumsGroupShape& group, std::byte* out);

}  // namespace halograph::wire
