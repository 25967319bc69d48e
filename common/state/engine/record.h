// Records of the push log as bytes (STATE.md): a header, ids and values, all checksummed. Plain
// functions without state.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/thread_pool.h"
#include "common/state/state_store.h"

namespace halograph {

inline constexpr int64_t kLogBlockBytes = 4096;
inline constexpr size_t kRecordHeaderBytes = 160;

// What a record says of its push, beside ids and values.
struct RecordHeader {
  uint64_t epoch = 0;  // of the segment's use: a record of an earlier use never passes as new
  int64_t lsn = 0;
  int64_t durable_lsn = 0;  // up to here the log was synced when this record was written
  uint32_t tensor = 0;      // number in the catalogue
  PushKind kind = PushKind::kGradient;
  DType dtype = DType::kFloat32;
  uint64_t client = 0;
  uint64_t sequence = 0;
  std::optional<SyncStep> step;
  uint64_t num_ids = 0;
  uint64_t value_bytes = 0;
  uint64_t ids_checksum = 0;     // PartChecksum of the ids
  uint64_t values_checksum = 0;  // and of the values

  // Of all that makes two pushes the same push.
  [[nodiscard]] uint64_t Digest() const;
};

// One push to write or as it was read. Borrows ids and values.
struct LogRecord {
  RecordHeader header;
  std::span<const int64_t> ids;
  std::span<const std::byte> values;
};

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

// XXH3-64 of the XXH3-64 of each piece of 64 KiB of a part. Different threads may sum different
// pieces.
class PartSum {
 public:
  static constexpr size_t kPieceBytes = size_t{64} << 10;

  explicit PartSum(std::span<const std::byte> part)
      : part_(part), sums_((part.size() + kPieceBytes - 1) / kPieceBytes) {}
  [[nodiscard]] size_t pieces() const { return sums_.size(); }
  [[nodiscard]] std::span<const std::byte> Piece(size_t i) const {
    const size_t first = i * kPieceBytes;
    return part_.subspan(first, std::min(kPieceBytes, part_.size() - first));
  }
  void Sum(size_t i);
  // Requires that every piece was summed.
  [[nodiscard]] uint64_t Finish() const;

 private:
  std::span<const std::byte> part_;
  std::vector<uint64_t> sums_;
};
// `pool` shares the work; null: nobody.
[[nodiscard]] uint64_t PartChecksum(std::span<const std::byte> part, ThreadPool* pool = nullptr);

using EncodedHeader = std::array<std::byte, kRecordHeaderBytes>;
[[nodiscard]] EncodedHeader EncodeHeader(const RecordHeader& header);
// Null if the bytes are no header, or its checksum does not fit.
[[nodiscard]] std::optional<RecordHeader> DecodeHeader(std::span<const std::byte> bytes);

// Whether ids and values fit the header's checksums.
[[nodiscard]] bool BodyFits(const LogRecord& record);

// Appends the pieces of a record to `pieces`: header, padding, ids, padding, values, padding.
// `header` lives as long as the pieces are used.
void AppendPieces(const LogRecord& record, const EncodedHeader& header,
                  std::vector<std::span<const std::byte>>* pieces);

}  // namespace halograph
