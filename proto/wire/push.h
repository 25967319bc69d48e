// PushRequest and PushReply (proto/halograph/v1/kv.proto), both written and read by hand: a push's
// rows are copied once on either side, from where they lie to where they belong. The bytes are
// exactly what generated code writes and reads. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/aligned_bytes.h"
#include "common/base/status.h"
#include "proto/wire/reader.h"

namespace halograph::wire {

// As v1.SyncStep.
struct PushStep {
  int64_t step = 0;
  int32_t rank = 0;
  int32_t world_size = 0;
  uint64_t run = 0;
  int32_t chunk = 0;
  int32_t chunks = 0;
  bool operator==(const PushStep&) const = default;
};

// All but ids and rows.
struct PushHeader {
  bool edge = false;
  std::string type = {};
  std::string name = {};
  uint32_t part = 0;
  uint32_t kind = 0;  // as v1.PushKind
  uint64_t client = 0;
  uint64_t sequence = 0;
  std::optional<PushStep> step = {};
  uint32_t dtype = 0;  // as v1.DType
  bool registered = false;
  uint64_t answered = 0;
};

// ---- as a server reads it --------------------------------------------------------------------

struct PushRequest {
  PushHeader header;
  std::vector<int64_t> ids;  // global; those beyond 2^63 come out negative: no id is
  AlignedBytes rows;
};

// Unknown fields are skipped. InvalidArgument if the bytes are no such message.
[[nodiscard]] StatusOr<PushRequest> ReadPushRequest(Pieces pieces);

struct PushReply {
  int64_t lsn = 0;
  bool applied_before = false;
};
[[nodiscard]] std::string WritePushReply(const PushReply& reply);

// ---- as a client writes it -------------------------------------------------------------------

// Rows of a push: entry i is ids[i] with row positions[i] of `rows`, or row i if `positions` is
// empty. Borrowed.
struct PushRows {
  std::span<const int64_t> ids = {};
  std::span<const int64_t> positions = {};
  const std::byte* rows = nullptr;
  size_t row_bytes = 0;  // of one
};
[[nodiscard]] std::string WritePushRequest(const PushHeader& header, const PushRows& rows);
// What a request takes beside its ids and rows, at most.
[[nodiscard]] size_t PushHeaderBytes(const PushHeader& header);

// DataLoss if the bytes are no such message.
[[nodiscard]] StatusOr<PushReply> ReadPushReply(Pieces pieces);

}  // namespace halograph::wire
