// PullRequest and PullReply (proto/halograph/v1/kv.proto), both written and read by hand: ids and
// rows are copied once, from where they lie to where they belong. The bytes are exactly what
// generated code writes and reads. Pure functions.
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

struct PullRequest {
  bool edge = false;  // `type` is a relation triple instead of a node type
  std::string type;
  std::string name;
  std::vector<int64_t> ids;  // global; those beyond 2^63 come out negative: no id is
  int64_t min_lsn = 0;       // of a mutable tensor: pushes that the rows must show
};

// Unknown fields are skipped. InvalidArgument if the bytes are no such message.
[[nodiscard]] StatusOr<PullRequest> ReadPullRequest(Pieces pieces);
[[nodiscard]] std::string WritePullRequest(bool edge, std::string_view type, std::string_view name,
                                           std::span<const int64_t> ids, int64_t min_lsn = 0);

// What a client asked for, which bounds what it takes.
struct PullReplyExpected {
  uint32_t dtype = 0;              // as v1.DType
  std::string_view dtype_name;     // for messages
  std::span<const int64_t> shape;  // [rows] or [rows, dim]; not empty
  size_t row_bytes = 0;

  [[nodiscard]] size_t rows_bytes() const { return static_cast<size_t>(shape[0]) * row_bytes; }
};

// Row i goes to destination + positions[i] * row_bytes, or to destination + i * row_bytes if
// `positions` is empty. Nothing is written outside the rows expected; on error they hold anything.
//   DataLoss  bytes that are no such message, or of another dtype, shape or size than expected
//   (what
//             was found and expected is named), or with rows before dtype and shape
[[nodiscard]] Status ReadPullReply(Pieces pieces, const PullReplyExpected& expected,
                                   std::span<const int64_t> positions, std::byte* destination);

// What stands before the rows of a reply takes at most this many bytes.
inline constexpr size_t kPullReplyHeaderBytes = 64;
// Writes it; the rows, `rows_bytes` together, follow right behind. `shape` has at most two
// extents. Gives the end.
[[nodiscard]] std::byte* PutPullReplyHeader(uint32_t dtype, std::span<const int64_t> shape,
                                            size_t rows_bytes, std::byte* out);

}  // namespace halograph::wire
