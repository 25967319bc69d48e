#include "common/state/engine/log/segment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/base/checksum.h"
#include "common/state/engine/log/durable_folder.h"
#include "common/state/engine/log/record.h"

namespace halograph {
namespace {

constexpr uint64_t kSegmentMagic = 0x3147455347414c48;  // "HLAGSEG1"
constexpr uint32_t kVersion = 1;
constexpr std::string_view kPrefix = "segment-";

struct StoredSegment {
  uint64_t checksum;  // XXH3-64 of all that follows
  uint64_t magic;
  uint32_t version;
  uint32_t zero;
  uint64_t stamp;
  uint64_t epoch;
  int64_t bytes;
};

uint64_t StoredChecksum(const StoredSegment& stored) {
  return Checksum64(std::as_bytes(std::span(&stored, 1)).subspan(sizeof(stored.checksum)));
}

std::optional<int> FileNumber(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

int64_t RoundToBlocks(int64_t bytes) {
  return (bytes + kLogBlockBytes - 1) / kLogBlockBytes * kLogBlockBytes;
}

}  // namespace

StatusOr<std::vector<Segment>> SegmentFolder::Open(uint64_t first_epoch, uint64_t next_epoch) {
  HG_RETURN_IF_ERROR(MakeDurableFolder(folder_, env_.files()));
  HG_ASSIGN_OR_RETURN(const std::vector<std::string> names, env_.files().List(folder_));
  next_epoch_ = std::max<uint64_t>({first_epoch, next_epoch, 1});
  std::vector<Segment> used;
  for (const std::string& name : names) {
    const std::optional<int> number = FileNumber(name);
    if (!number.has_value()) continue;
    next_file_ = std::max(next_file_, *number + 1);
    Segment segment;
    segment.path = folder_ / name;
    bool whole = false;
    HG_RETURN_IF_ERROR(ReadSegmentHeader(&segment, &whole));
    if (!whole) HG_RETURN_IF_ERROR(ReadDamaged(segment, first_epoch));
    if (whole) next_epoch_ = std::max(next_epoch_, segment.epoch + 1);
    (whole && segment.epoch >= first_epoch ? used : free_).push_back(std::move(segment));
  }
  std::sort(used.begin(), used.end(),
            [](const Segment& a, const Segment& b) { return a.epoch < b.epoch; });
  return used;
}

// A header that never came to the disk, or one that was damaged since: its records may have
// counted, if they are not older than the log.
Status SegmentFolder::ReadDamaged(const Segment& segment, uint64_t first_epoch) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file,
                      env_.files().OpenToRead(segment.path));
  return VisitHeaders(*file, kLogBlockBytes, segment.bytes, [&](const auto& header) {
    next_epoch_ = std::max(next_epoch_, header.epoch + 1);
    if (header.epoch >= first_epoch) durable_lsn_ = std::max(durable_lsn_, header.durable_lsn);
  });
}

Status SegmentFolder::ReadSegmentHeader(Segment* segment, bool* whole) const {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file,
                      env_.files().OpenToRead(segment->path));
  HG_ASSIGN_OR_RETURN(segment->bytes, file->Size());
  StoredSegment stored;
  if (segment->bytes < kLogBlockBytes) return OkStatus();
  HG_RETURN_IF_ERROR(file->ReadAt(0, std::as_writable_bytes(std::span(&stored, 1))));
  if (stored.magic != kSegmentMagic || stored.checksum != StoredChecksum(stored)) return OkStatus();
  if (stored.version > kVersion) {
    return FailedPrecondition(
        "{}: format {} of the push log, this build reads {}: use a newer build",
        segment->path.string(), stored.version, kVersion);
  }
  if (stored.stamp != stamp_) {
    return FailedPrecondition("{}: a segment of another state's push log: move it away",
                              segment->path.string());
  }
  segment->epoch = stored.epoch;
  segment->end = kLogBlockBytes;
  *whole = true;
  return OkStatus();
}

StatusOr<Segment> SegmentFolder::Begin(int64_t bytes) {
  const int64_t file_bytes = RoundToBlocks(bytes) + kLogBlockBytes;
  Segment segment;
  const auto fits = std::find_if(free_.begin(), free_.end(),
                                 [&](const Segment& file) { return file.bytes >= file_bytes; });
  const bool fresh = fits == free_.end();
  if (fresh) {
    segment.path = folder_ / fmt::format("{}{:06}", kPrefix, next_file_++);
    segment.bytes = file_bytes;
    HG_ASSIGN_OR_RETURN(segment.file, env_.files().Create(segment.path, segment.bytes, how_));
  } else {
    segment.path = fits->path;
    segment.bytes = fits->bytes;
    segment.named = fits->named;
    free_.erase(fits);
    HG_ASSIGN_OR_RETURN(segment.file, env_.files().OpenToWrite(segment.path, how_));
  }
  segment.epoch = next_epoch_++;
  segment.end = kLogBlockBytes;
  StoredSegment stored = {0, kSegmentMagic, kVersion, 0, stamp_, segment.epoch, segment.bytes};
  stored.checksum = StoredChecksum(stored);
  alignas(kLogBlockBytes) std::array<std::byte, kLogBlockBytes> block = {};
  std::memcpy(block.data(), &stored, sizeof(stored));
  const std::span<const std::byte> piece = block;
  HG_RETURN_IF_ERROR(segment.file->WriteAt(0, std::span(&piece, 1)));
  return segment;
}

void SegmentFolder::Free(const Segment& segment, int64_t usual_bytes) {
  if (segment.bytes > 2 * usual_bytes + kLogBlockBytes) {
    // What cannot be removed is found free again, at the latest when the log is opened next time.
    if (Remove(segment).ok()) return;
  }
  free_.push_back(segment);
  free_.back().file = nullptr;
}

Status SegmentFolder::Remove(const Segment& segment) {
  HG_RETURN_IF_ERROR(env_.files().Remove(segment.path));
  return env_.files().SyncFolder(folder_);
}

}  // namespace halograph
