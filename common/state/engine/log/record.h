// Records of the push log as bytes (STATE.md): a header, ids and values, all checksummed. Plain
// functions without state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/base/thread_pool.h"
#include "common/state/env.h"
#include "common/state/row_push.h"

namespace halograph {

inline constexpr int64_t kLogBlockBytes = 4096;

// One push as the log has it; or that id.client was registered, and, in push.ids, the client that
// left the table for it, if one did. Borrows ids and rows.
struct LogRecord {
  uint64_t epoch = 0;  // of the segment's use: a record of an earlier use never passes as new
  int64_t lsn = 0;
  int64_t durable_lsn = 0;  // up to here the log was synced when this record was written
  uint32_t tensor = 0;      // number in the catalogue, which is all that the log has of push.tensor
  RowPush push;
  PushId id;
  bool registers = false;
  int64_t second = 0;          // of the wall clock, when it was ordered; 0: an older build wrote it
  uint64_t ids_checksum = 0;   // PartChecksum of the ids
  uint64_t rows_checksum = 0;  // and of the rows

  // Of all that makes two pushes the same push.
  [[nodiscard]] uint64_t Digest() const;
  // Of a copy: ids and rows, the local rows of the ids, and what is held beside them, without which
  // any number of empty pushes would count for nothing.
  static constexpr int64_t kHeldBytes = 512;
  [[nodiscard]] int64_t copied_bytes() const {
    return kHeldBytes + static_cast<int64_t>(2 * push.ids.size_bytes() + push.rows.size());
  }
};

// The header of a record as it stands in the file.
struct RecordHeader {
  uint64_t checksum = 0;  // XXH3-64 of all that follows
  uint64_t magic = 0;
  uint64_t epoch = 0;
  int64_t lsn = 0;
  int64_t durable_lsn = 0;
  uint32_t tensor = 0;
  uint8_t kind = 0;
  uint8_t synchronous = 0;
  uint16_t dtype = 0;
  uint64_t client = 0;
  uint64_t sequence = 0;
  int64_t step = 0;
  int32_t rank = 0;
  int32_t world_size = 0;
  uint64_t run = 0;
  uint64_t num_ids = 0;
  uint64_t value_bytes = 0;
  uint64_t ids_checksum = 0;
  uint64_t values_checksum = 0;
  int32_t chunk = 0;
  int32_t chunks = 0;
  int64_t second = 0;
  uint64_t answered = 0;
  uint8_t registered = 0;  // the client's id
  uint8_t registers = 0;
  std::array<uint8_t, 6> zero_bytes = {};
  uint64_t zero = 0;
};
inline constexpr size_t kRecordHeaderBytes = 160;
static_assert(sizeof(RecordHeader) == kRecordHeaderBytes);

[[nodiscard]] RecordHeader EncodeHeader(const LogRecord& record);
// Null if the bytes are no header, or its checksum does not fit.
[[nodiscard]] std::optional<RecordHeader> DecodeHeader(std::span<const std::byte> bytes);
// Gives `visit` every header of a record in the file from `offset`, a block boundary, to `end`,
// wherever one begins and of whatever epoch. Errors of ReadableFile.
[[nodiscard]] Status VisitHeaders(const ReadableFile& file, int64_t offset, int64_t end,
                                  const std::function<void(const RecordHeader&)>& visit);

// The record of a header, with ids and rows that were read behind it. Its push.tensor is empty.
[[nodiscard]] LogRecord DecodeRecord(const RecordHeader& header, std::span<const int64_t> ids,
                                     std::span<const std::byte> rows);

// Where the parts of a record lie from its first byte. A record of at most kPackedBytes holds its
// parts one after the other, on 64-byte boundaries; in a larger one each begins on a block
// boundary. Records take whole blocks.
struct RecordLayout {
  static constexpr int64_t kPackedBytes = int64_t{64} << 10;
  int64_t ids_offset = 0;
  int64_t values_offset = 0;
  int64_t bytes = 0;  // of the whole record
};
// Null if the sizes are beyond `limit` bytes.
[[nodiscard]] std::optional<RecordLayout> LayoutOf(uint64_t num_ids, uint64_t value_bytes,
                                                   int64_t limit);

// XXH3-64 of the XXH3-64 of each piece of kPieceBytes of a part. `pool` shares the work; null:
// nobody. `visit` gets each piece just before, and where it begins; different threads may call it.
inline constexpr size_t kPieceBytes = size_t{64} << 10;
[[nodiscard]] uint64_t PartChecksum(
    std::span<const std::byte> part, ThreadPool* pool = nullptr,
    const std::function<void(size_t first, std::span<const std::byte> piece)>& visit = nullptr);

// Whether ids and rows fit their checksums.
[[nodiscard]] bool BodyFits(const LogRecord& record);

// Appends the pieces of a record to `pieces`: header, padding, ids, padding, rows, padding.
// `header` lives as long as the pieces are used.
void AppendPieces(const LogRecord& record, const RecordHeader& header,
                  std::vector<std::span<const std::byte>>* pieces);

}  // namespace halograph
