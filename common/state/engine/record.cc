#include "common/state/engine/record.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "common/base/checksum.h"

namespace halograph {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kRecordMagic = 0x31434552474c4148;  // "HALGREC1"

// As it stands in the file.
struct Stored {
  uint64_t checksum;  // XXH3-64 of all that follows
  uint64_t magic;
  uint64_t epoch;
  int64_t lsn;
  int64_t durable_lsn;
  uint32_t tensor;
  uint8_t kind;
  uint8_t synchronous;
  uint16_t dtype;
  uint64_t client;
  uint64_t sequence;
  int64_t step;
  int32_t rank;
  int32_t world_size;
  uint64_t run;
  uint64_t num_ids;
  uint64_t value_bytes;
  uint64_t ids_checksum;
  uint64_t values_checksum;
  int32_t chunk;
  int32_t chunks;
  std::array<uint64_t, 4> zeros;
};
static_assert(sizeof(Stored) == kRecordHeaderBytes);

alignas(4096) constexpr std::array<std::byte, kLogBlockBytes> kZeros = {};

int64_t RoundUp(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

uint64_t StoredChecksum(const Stored& stored) {
  return Checksum64(std::as_bytes(std::span(&stored, 1)).subspan(sizeof(stored.checksum)));
}

}  // namespace

uint64_t RecordHeader::Digest() const {
  const SyncStep at = step.value_or(SyncStep{});
  const std::array<uint64_t, 13> fields = {tensor,
                                           static_cast<uint64_t>(kind),
                                           static_cast<uint64_t>(dtype),
                                           step.has_value() ? 1u : 0u,
                                           static_cast<uint64_t>(at.step),
                                           static_cast<uint64_t>(at.rank),
                                           static_cast<uint64_t>(at.world_size),
                                           at.run,
                                           static_cast<uint64_t>(at.chunk),
                                           static_cast<uint64_t>(at.chunks),
                                           num_ids,
                                           ids_checksum,
                                           values_checksum};
  return Checksum64(std::as_bytes(std::span(fields)));
}

std::optional<RecordLayout> LayoutOf(uint64_t num_ids, uint64_t value_bytes, int64_t limit) {
  const auto most = static_cast<uint64_t>(limit);
  if (num_ids > most / sizeof(int64_t) || value_bytes > most) return std::nullopt;
  const auto id_bytes = static_cast<int64_t>(num_ids * sizeof(int64_t));
  const auto values = static_cast<int64_t>(value_bytes);
  const auto place = [&](int64_t boundary) {
    RecordLayout layout;
    layout.ids_offset = RoundUp(kRecordHeaderBytes, boundary);
    layout.values_offset = RoundUp(layout.ids_offset + id_bytes, boundary);
    layout.bytes = RoundUp(layout.values_offset + values, kLogBlockBytes);
    return layout;
  };
  RecordLayout layout = place(64);
  if (layout.bytes > RecordLayout::kPackedBytes) layout = place(kLogBlockBytes);
  if (layout.bytes > limit) return std::nullopt;
  return layout;
}

void PartSum::Sum(size_t i) { sums_[i] = Checksum64(Piece(i)); }

uint64_t PartSum::Finish() const { return Checksum64(std::as_bytes(std::span(sums_))); }

uint64_t PartChecksum(std::span<const std::byte> part, ThreadPool* pool) {
  PartSum sum(part);
  ParallelFor(pool, static_cast<int64_t>(sum.pieces()), 1, [&sum](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum.Sum(static_cast<size_t>(i));
  });
  return sum.Finish();
}

EncodedHeader EncodeHeader(const RecordHeader& header) {
  Stored stored = {};
  stored.magic = kRecordMagic;
  stored.epoch = header.epoch;
  stored.lsn = header.lsn;
  stored.durable_lsn = header.durable_lsn;
  stored.tensor = header.tensor;
  stored.kind = static_cast<uint8_t>(header.kind);
  stored.synchronous = header.step.has_value() ? 1 : 0;
  stored.dtype = static_cast<uint16_t>(header.dtype);
  stored.client = header.client;
  stored.sequence = header.sequence;
  const SyncStep step = header.step.value_or(SyncStep{0, 0, 0, 0, 0, 0});
  stored.step = step.step;
  stored.rank = step.rank;
  stored.world_size = step.world_size;
  stored.run = step.run;
  stored.chunk = step.chunk;
  stored.chunks = step.chunks;
  stored.num_ids = header.num_ids;
  stored.value_bytes = header.value_bytes;
  stored.ids_checksum = header.ids_checksum;
  stored.values_checksum = header.values_checksum;
  stored.checksum = StoredChecksum(stored);
  EncodedHeader encoded;
  std::memcpy(encoded.data(), &stored, sizeof(stored));
  return encoded;
}

std::optional<RecordHeader> DecodeHeader(std::span<const std::byte> bytes) {
  Stored stored;
  if (bytes.size() < sizeof(stored)) return std::nullopt;
  std::memcpy(&stored, bytes.data(), sizeof(stored));
  if (stored.magic != kRecordMagic || stored.checksum != StoredChecksum(stored))
    return std::nullopt;
  RecordHeader header;
  header.epoch = stored.epoch;
  header.lsn = stored.lsn;
  header.durable_lsn = stored.durable_lsn;
  header.tensor = stored.tensor;
  header.kind = static_cast<PushKind>(stored.kind);
  header.dtype = static_cast<DType>(stored.dtype);
  header.client = stored.client;
  header.sequence = stored.sequence;
  if (stored.synchronous != 0) {
    header.step = SyncStep{stored.step, stored.rank,  stored.world_size,
                           stored.run,  stored.chunk, stored.chunks};
  }
  header.num_ids = stored.num_ids;
  header.value_bytes = stored.value_bytes;
  header.ids_checksum = stored.ids_checksum;
  header.values_checksum = stored.values_checksum;
  return header;
}

bool BodyFits(const LogRecord& record) {
  return PartChecksum(std::as_bytes(record.ids)) == record.header.ids_checksum &&
         PartChecksum(record.values) == record.header.values_checksum;
}

void AppendPieces(const LogRecord& record, const EncodedHeader& header,
                  std::vector<std::span<const std::byte>>* pieces) {
  const RecordLayout layout =
      *LayoutOf(record.ids.size(), record.values.size(), std::numeric_limits<int64_t>::max() / 4);
  const auto pad = [&](int64_t from, int64_t to) {
    if (to > from) pieces->push_back(std::span(kZeros).first(static_cast<size_t>(to - from)));
  };
  const auto id_bytes = static_cast<int64_t>(record.ids.size_bytes());
  pieces->push_back(header);
  pad(kRecordHeaderBytes, layout.ids_offset);
  if (id_bytes > 0) pieces->push_back(std::as_bytes(record.ids));
  pad(layout.ids_offset + id_bytes, layout.values_offset);
  if (!record.values.empty()) pieces->push_back(record.values);
  pad(layout.values_offset + static_cast<int64_t>(record.values.size()), layout.bytes);
}

}  // namespace halograph
