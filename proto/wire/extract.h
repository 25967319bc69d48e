// ExtractRequest and ExtractReply (proto/halograph/v1/graph.proto), written and read by clients and
// servers: the bytes are exactly what generated code writes and reads. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "proto/wire/reader.h"

namespace halograph::wire {

// ---- the request -----------------------------------------------------------------------------

// As a server reads it. Global ids; those beyond 2^63 come out negative: no id is.
struct ExtractGroup {
  std::string relation;  // source:name:destination
  std::vector<int64_t> destinations;
  std::vector<int64_t> columns;  // however they came
  bool edge_ids = false;
  std::vector<int64_t> degrees_of;  // nodes of the destination type
};

struct ExtractRequest {
  std::vector<ExtractGroup> groups;
  int64_t max_bytes = 0;  // of the reply; 0: as many as the server's limit allows
};

// Unknown fields are skipped. Of more than `max_groups` groups no more than one beyond is kept, for
// the handler to refuse. InvalidArgument if the bytes are no such message.
[[nodiscard]] StatusOr<ExtractRequest> ReadExtractRequest(Pieces pieces, size_t max_groups);

// The same as a client writes it, borrowed.
struct ExtractGroupView {
  std::string_view relation;
  std::span<const int64_t> destinations = {};
  std::span<const int64_t> columns = {};
  bool edge_ids = false;
  std::span<const int64_t> degrees_of = {};
  // Columns may travel as differences: they do where that takes half of their bytes, or less.
  bool column_deltas = false;
};

[[nodiscard]] std::string WriteExtractRequest(std::span<const ExtractGroupView> groups,
                                              int64_t max_bytes);

// ---- the reply -------------------------------------------------------------------------------

// As a client reads it: of the first destinations of a group, and of the first of the other nodes
// whose degrees it asked for.
struct ExtractGroupReply {
  std::vector<uint32_t> counts;   // edges from columns of each destination
  std::vector<uint32_t> columns;  // by edge: the position of its source in the list of columns
  std::vector<int64_t> edge_ids;  // by edge, or none
  std::vector<uint64_t> degrees;  // of each destination
  std::vector<uint64_t> other_degrees;
};

// What a client asked for, which bounds what it takes.
struct ExtractExpected {
  size_t destinations = 0;
  size_t columns = 0;
  int64_t edges = 0;  // of the relation: edge ids are below, and no degree is above
  bool edge_ids = false;
  size_t degrees_of = 0;
};

// Reads the reply into `groups`, which is overwritten: as many as the reply has, complete but for
// the last. A reply may answer nothing. On error `groups` holds anything.
//   DataLoss  bytes that are no such message; or groups, counts, columns, edge ids or degrees that
//             do not fit what was asked for: the group, what was found and what was expected are
//             named
[[nodiscard]] Status ReadExtractReply(Pieces pieces, std::span<const ExtractExpected> expected,
                                      std::vector<ExtractGroupReply>* groups);

// As a server writes it. No number is below 0.
struct ExtractGroupShape {
  std::span<const uint32_t> counts;
  std::span<const int32_t> columns;
  std::span<const int64_t> edge_ids;
  std::span<const int64_t> degrees;
  std::span<const int64_t> other_degrees;
};

// Bytes of the group in a reply, with what stands before it.
[[nodiscard]] size_t ExtractGroupBytes(const ExtractGroupShape& group);
// What a group of at most 2^31 bytes takes beside its numbers: at most.
inline constexpr int64_t kExtractGroupOverhead = 36;
// Writes the group; gives the end. Requires ExtractGroupBytes of room.
[[nodiscard]] std::byte* PutExtractGroup(const ExtractGroupShape& group, std::byte* out);

}  // namespace halograph::wire
