#include "common/state/engine/log/log_replay.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace halograph {
namespace {

// Reads the records of one segment from front to back.
class SegmentReader {
 public:
  // Bodies of records are read into `buffer`.
  SegmentReader(const Segment& segment, const ReadableFile& file, std::vector<std::byte>* buffer,
                int64_t offset)
      : segment_(segment), file_(file), buffer_(*buffer), offset_(offset) {}

  // The header at offset(); null if there is none of this use of the file.
  StatusOr<std::optional<RecordHeader>> Header() {
    if (offset_ + kLogBlockBytes > segment_.bytes) return std::optional<RecordHeader>();
    std::array<std::byte, kRecordHeaderBytes> bytes;
    HG_RETURN_IF_ERROR(file_.ReadAt(offset_, bytes));
    std::optional<RecordHeader> header = DecodeHeader(bytes);
    if (header.has_value() && header->epoch != segment_.epoch) header.reset();
    if (header.has_value()) {
      const std::optional<RecordLayout> layout =
          LayoutOf(header->num_ids, header->value_bytes, segment_.bytes - offset_);
      if (layout.has_value()) layout_ = *layout;
      if (!layout.has_value()) header.reset();
    }
    return header;
  }
  void Skip() { offset_ += layout_.bytes; }

  // The whole record behind Header(); null if its body is damaged.
  StatusOr<std::optional<LogRecord>> Body(const RecordHeader& header) {
    // From the ids on, which are aligned in the file and in the buffer.
    HG_ASSIGN_OR_RETURN(const std::span<const std::byte> body,
                        Bytes(offset_ + layout_.ids_offset, layout_.bytes - layout_.ids_offset));
    LogRecord record = DecodeRecord(
        header,
        {reinterpret_cast<const int64_t*>(body.data()), static_cast<size_t>(header.num_ids)},
        body.subspan(static_cast<size_t>(layout_.values_offset - layout_.ids_offset),
                     static_cast<size_t>(header.value_bytes)));
    if (!BodyFits(record)) return std::optional<LogRecord>();
    return std::optional<LogRecord>(std::move(record));
  }

  // What the headers from offset() on say, wherever they begin.
  struct Later {
    int64_t durable_lsn = 0;  // the largest
    int64_t lsn = 0;          // likewise
  };
  StatusOr<Later> ReadLater() {
    Later later;
    HG_RETURN_IF_ERROR(
        VisitHeaders(file_, offset_, segment_.bytes, [&](const RecordHeader& header) {
          if (header.epoch != segment_.epoch) return;
          later.durable_lsn = std::max(later.durable_lsn, header.durable_lsn);
          later.lsn = std::max(later.lsn, header.lsn);
        }));
    return later;
  }

  // Whether the next record was at offset(), as far as one can tell: something of it is there, or
  // the segment has room for one more like the last.
  StatusOr<bool> LikelyHasNext() {
    if (offset_ + kLogBlockBytes > segment_.bytes) return false;
    if (offset_ + layout_.bytes <= segment_.bytes) return true;
    std::array<std::byte, kRecordHeaderBytes> bytes;
    HG_RETURN_IF_ERROR(file_.ReadAt(offset_, bytes));
    if (const auto header = DecodeHeader(bytes)) return header->epoch == segment_.epoch;
    return std::any_of(bytes.begin(), bytes.end(),
                       [](std::byte byte) { return byte != std::byte(); });
  }

  [[nodiscard]] int64_t offset() const { return offset_; }

 private:
  StatusOr<std::span<const std::byte>> Bytes(int64_t offset, int64_t count) {
    const auto size = static_cast<size_t>(count);
    if (buffer_.size() < size) buffer_.resize(size);
    const std::span<std::byte> bytes = std::span(buffer_).first(size);
    HG_RETURN_IF_ERROR(file_.ReadAt(offset, bytes));
    return bytes;
  }

  const Segment& segment_;
  const ReadableFile& file_;
  std::vector<std::byte>& buffer_;
  int64_t offset_;
  RecordLayout layout_;  // of the record of Header()
};

class Replay {
 public:
  Replay(int64_t first_lsn, int64_t durable_lsn, FileSystem& files,
         const std::function<Status(const LogRecord&)>& apply)
      : due_(first_lsn), durable_(durable_lsn), files_(files), apply_(apply) {}

  StatusOr<ReplayedLog> Run(std::vector<Segment> segments) {
    for (Segment& segment : segments) HG_RETURN_IF_ERROR(ReadSegment(std::move(segment)));
    if (durable_ >= due_ && first_bad_.has_value()) {
      log_.damage = DataLoss(
          "{}: the record of LSN {} at offset {} is damaged or missing although it had been synced "
          "(up to LSN {})",
          first_bad_->place.path.string(), due_, first_bad_->place.offset, durable_);
    } else if (durable_ >= due_) {
      log_.damage = DataLoss(
          "the push log ends at LSN {}, but it had been synced up to {}: segment files are missing",
          due_ - 1, durable_);
    } else if (behind_ > due_) {  // what is due may be torn in its body
      log_.hole = DataLoss(
          "{}: the record of LSN {} at offset {} is damaged or missing, and one of LSN {} is there",
          first_bad_->place.path.string(), due_, first_bad_->place.offset, behind_);
      log_.behind_hole = behind_ - due_ + 1;
    }
    log_.last_lsn = due_ - 1;
    log_.durable_lsn = durable_;
    log_.known_lsn = std::max({log_.last_lsn, durable_, seen_});
    std::erase_if(log_.unsynced, [&](const RecordPlace& place) { return place.lsn <= durable_; });
    return std::move(log_);
  }

 private:
  Status ReadSegment(Segment segment) {
    HG_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files_.OpenToRead(segment.path));
    SegmentReader reader(segment, *file, &buffer_, kLogBlockBytes);
    bool ahead = false;
    while (true) {
      HG_ASSIGN_OR_RETURN(const std::optional<RecordHeader> header, reader.Header());
      if (!header.has_value()) break;
      durable_ = std::max(durable_, header->durable_lsn);
      ahead = header->lsn > due_;
      if (ahead) break;
      behind_ = 0;  // who wrote this, or copied it, knew where the log had ended
      if (header->lsn == due_) {
        HG_ASSIGN_OR_RETURN(const std::optional<LogRecord> record, reader.Body(*header));
        if (!record.has_value()) break;
        HG_RETURN_IF_ERROR(apply_(*record));
        log_.unsynced.push_back({segment.path, reader.offset(), segment.epoch, due_});
        ++due_;
        first_bad_.reset();  // what it was has come
      }
      if (segment.first_lsn == 0) segment.first_lsn = header->lsn;
      segment.last_lsn = std::max(segment.last_lsn, header->lsn);
      reader.Skip();
    }
    segment.end = reader.offset();
    HG_ASSIGN_OR_RETURN(const SegmentReader::Later later, reader.ReadLater());
    durable_ = std::max(durable_, later.durable_lsn);
    seen_ = std::max(seen_, later.lsn);
    behind_ = std::max(behind_, later.lsn);
    // The record that is due was here, or is to come in the next segment.
    HG_ASSIGN_OR_RETURN(const bool likely, reader.LikelyHasNext());
    if (!first_bad_.has_value() || (!first_bad_->likely && !ahead)) {
      first_bad_ = {{segment.path, reader.offset(), segment.epoch, due_}, likely};
    }
    (segment.first_lsn != 0 ? log_.segments : log_.unused).push_back(std::move(segment));
    return OkStatus();
  }

  int64_t due_;
  int64_t durable_;
  FileSystem& files_;
  const std::function<Status(const LogRecord&)>& apply_;
  std::vector<std::byte> buffer_;
  struct Bad {
    RecordPlace place;
    bool likely = false;  // it was there
  };
  std::optional<Bad> first_bad_;  // since the last record that was due
  int64_t seen_ = 0;              // the largest LSN behind an end
  int64_t behind_ = 0;            // likewise, of the end that nothing has gone on from
  ReplayedLog log_;
};

}  // namespace

StatusOr<ReplayedLog> ReplayLog(std::vector<Segment> segments, int64_t first_lsn,
                                int64_t durable_lsn, FileSystem& files,
                                const std::function<Status(const LogRecord&)>& apply) {
  return Replay(first_lsn, durable_lsn, files, apply).Run(std::move(segments));
}

StatusOr<LogRecord> ReadRecord(const RecordPlace& place, FileSystem& files,
                               std::vector<std::byte>* buffer) {
  Segment segment;
  segment.path = place.path;
  segment.epoch = place.epoch;
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files.OpenToRead(place.path));
  HG_ASSIGN_OR_RETURN(segment.bytes, file->Size());
  SegmentReader reader(segment, *file, buffer, place.offset);
  HG_ASSIGN_OR_RETURN(const std::optional<RecordHeader> header, reader.Header());
  std::optional<LogRecord> record;
  if (header.has_value() && header->lsn == place.lsn) {
    HG_ASSIGN_OR_RETURN(record, reader.Body(*header));
  }
  if (record.has_value()) return *record;
  return DataLoss("{}: the record of LSN {} at offset {} was whole, and is damaged now",
                  place.path.string(), place.lsn, place.offset);
}

}  // namespace halograph
