#include "common/state/engine/log/record.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>

#include "common/base/checksum.h"

namespace halograph {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kRecordMagic = 0x31434552474c4148;  // "HALGREC1"
constexpr int64_t kPiecesAtATime = 4;                  // that one thread sums
constexpr int64_t kScanBytes = int64_t{1} << 20;

alignas(4096) constexpr std::array<std::byte, kLogBlockBytes> kZeros = {};

int64_t RoundUp(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

std::span<const std::byte> BytesOf(const RecordHeader& header) {
  return std::as_bytes(std::span(&header, 1));
}

uint64_t HeaderChecksum(const RecordHeader& header) {
  return Checksum64(BytesOf(header).subspan(sizeof(header.checksum)));
}

}  // namespace

uint64_t LogRecord::Digest() const {
  const SyncStep at = push.step.value_or(SyncStep{});
  const std::array<uint64_t, 13> fields = {tensor,
                                           static_cast<uint64_t>(push.kind),
                                           static_cast<uint64_t>(push.dtype),
                                           push.step.has_value() ? 1u : 0u,
                                           static_cast<uint64_t>(at.step),
                                           static_cast<uint64_t>(at.rank),
                                           static_cast<uint64_t>(at.world_size),
                                           at.run,
                                           static_cast<uint64_t>(at.chunk),
                                           static_cast<uint64_t>(at.chunks),
                                           push.ids.size(),
                                           ids_checksum,
                                           rows_checksum};
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

uint64_t PartChecksum(
    std::span<const std::byte> part, ThreadPool* pool,
    const std::function<void(size_t first, std::span<const std::byte> piece)>& visit) {
  std::vector<uint64_t> sums((part.size() + kPieceBytes - 1) / kPieceBytes);
  ParallelFor(pool, std::ssize(sums), kPiecesAtATime, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const size_t first = i * kPieceBytes;
      const auto piece = part.subspan(first, std::min(kPieceBytes, part.size() - first));
      if (visit) visit(first, piece);
      sums[i] = Checksum64(piece);
    }
  });
  return Checksum64(std::as_bytes(std::span(sums)));
}

RecordHeader EncodeHeader(const LogRecord& record) {
  const RowPush& push = record.push;
  const SyncStep step = push.step.value_or(SyncStep{0, 0, 0, 0, 0, 0});
  RecordHeader header = {.magic = kRecordMagic,
                         .epoch = record.epoch,
                         .lsn = record.lsn,
                         .durable_lsn = record.durable_lsn,
                         .tensor = record.tensor,
                         .kind = static_cast<uint8_t>(push.kind),
                         .synchronous = push.step.has_value() ? uint8_t{1} : uint8_t{0},
                         .dtype = static_cast<uint16_t>(push.dtype),
                         .client = record.id.client,
                         .sequence = record.id.sequence,
                         .step = step.step,
                         .rank = step.rank,
                         .world_size = step.world_size,
                         .run = step.run,
                         .num_ids = push.ids.size(),
                         .value_bytes = push.rows.size(),
                         .ids_checksum = record.ids_checksum,
                         .values_checksum = record.rows_checksum,
                         .chunk = step.chunk,
                         .chunks = step.chunks,
                         .second = record.second,
                         .answered = record.id.answered,
                         .registered = record.id.registered ? uint8_t{1} : uint8_t{0},
                         .registers = record.registers ? uint8_t{1} : uint8_t{0}};
  header.checksum = HeaderChecksum(header);
  return header;
}

std::optional<RecordHeader> DecodeHeader(std::span<const std::byte> bytes) {
  RecordHeader header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kRecordMagic || header.checksum != HeaderChecksum(header))
    return std::nullopt;
  return header;
}

Status VisitHeaders(const ReadableFile& file, int64_t offset, int64_t end,
                    const std::function<void(const RecordHeader&)>& visit) {
  std::vector<std::byte> chunk(kScanBytes);
  for (int64_t at = offset; at < end; at += kScanBytes) {
    const auto bytes = static_cast<size_t>(std::min(kScanBytes, end - at));
    HG_RETURN_IF_ERROR(file.ReadAt(at, std::span(chunk).first(bytes)));
    for (size_t block = 0; block < bytes; block += kLogBlockBytes) {
      const auto header = DecodeHeader(std::span(chunk).first(bytes).subspan(block));
      if (header.has_value()) visit(*header);
    }
  }
  return OkStatus();
}

LogRecord DecodeRecord(const RecordHeader& header, std::span<const int64_t> ids,
                       std::span<const std::byte> rows) {
  LogRecord record = {
      .epoch = header.epoch,
      .lsn = header.lsn,
      .durable_lsn = header.durable_lsn,
      .tensor = header.tensor,
      .push = {.kind = static_cast<PushKind>(header.kind),
               .ids = ids,
               .dtype = static_cast<DType>(header.dtype),
               .rows = rows},
      .id = {header.client, header.sequence, header.registered != 0, header.answered},
      .registers = header.registers != 0,
      .second = header.second,
      .ids_checksum = header.ids_checksum,
      .rows_checksum = header.values_checksum};
  if (header.synchronous != 0) {
    record.push.step = SyncStep{header.step, header.rank,  header.world_size,
                                header.run,  header.chunk, header.chunks};
  }
  return record;
}

bool BodyFits(const LogRecord& record) {
  return PartChecksum(std::as_bytes(record.push.ids)) == record.ids_checksum &&
         PartChecksum(record.push.rows) == record.rows_checksum;
}

void AppendPieces(const LogRecord& record, const RecordHeader& header,
                  std::vector<std::span<const std::byte>>* pieces) {
  const RowPush& push = record.push;
  const RecordLayout layout =
      *LayoutOf(push.ids.size(), push.rows.size(), std::numeric_limits<int64_t>::max() / 4);
  const auto pad = [&](int64_t from, int64_t to) {
    if (to > from) pieces->push_back(std::span(kZeros).first(static_cast<size_t>(to - from)));
  };
  const auto id_bytes = static_cast<int64_t>(push.ids.size_bytes());
  pieces->push_back(BytesOf(header));
  pad(kRecordHeaderBytes, layout.ids_offset);
  if (id_bytes > 0) pieces->push_back(std::as_bytes(push.ids));
  pad(layout.ids_offset + id_bytes, layout.values_offset);
  if (!push.rows.empty()) pieces->push_back(push.rows);
  pad(layout.values_offset + static_cast<int64_t>(push.rows.size()), layout.bytes);
}

}  // namespace halograph
