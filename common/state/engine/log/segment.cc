#include "common/state/engine/log/segment.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "common/base/checksum.h"
#include "common/state/engine/log/durable_folder.h"
#include "common/state/engine/log/record.h"

namespace halograph {
namespace {

constexpr uint64_t kSegmentMagic = 0x3147455347414c48;  // "HLAGSEG1"
constexpr uint32_t kVersion = 2;

struct StoredSegment {
  uint64_t checksum;  // XXH3-64 of all that follows
  uint64_t magic;
  uint32_t version;
  uint32_t zero;
  uint64_t stamp;
  uint64_t epoch;
  int64_t bytes;
  int64_t catalogue;  // which write of it the segment saw; not in version 1
};

uint64_t StoredChecksum(const StoredSegment& stored, uint32_t version) {
  const size_t bytes = version == 1 ? offsetof(StoredSegment, catalogue) : sizeof(stored);
  return Checksum64(
      std::as_bytes(std::span(&stored, 1)).first(bytes).subspan(sizeof(stored.checksum)));
}

// Null: no whole header is there.
StatusOr<std::optional<StoredSegment>> ReadHeader(const ReadableFile& file, int64_t file_bytes) {
  StoredSegment stored;
  if (file_bytes < kLogBlockBytes) return std::optional<StoredSegment>();
  HG_RETURN_IF_ERROR(file.ReadAt(0, std::as_writable_bytes(std::span(&stored, 1))));
  const bool whole =
      stored.magic == kSegmentMagic && stored.checksum == StoredChecksum(stored, stored.version);
  if (!whole) return std::optional<StoredSegment>();
  if (stored.version == 1) stored.catalogue = 0;
  return std::optional(stored);
}

int64_t RoundToBlocks(int64_t bytes) {
  return (bytes + kLogBlockBytes - 1) / kLogBlockBytes * kLogBlockBytes;
}

}  // namespace

StatusOr<std::optional<int64_t>> CatalogueSeenBySegment(const std::filesystem::path& path,
                                                        FileSystem& files) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files.OpenToRead(path));
  HG_ASSIGN_OR_RETURN(const int64_t bytes, file->Size());
  HG_ASSIGN_OR_RETURN(const std::optional<StoredSegment> header, ReadHeader(*file, bytes));
  if (!header.has_value() || header->version == 1) return std::optional<int64_t>();
  return std::optional(header->catalogue);
}

// A block at `offset` that begins with `bytes`, and zeros.
Status SegmentFolder::WriteBlock(WritableFile& file, int64_t offset,
                                 std::span<const std::byte> bytes) {
  alignas(kLogBlockBytes) std::array<std::byte, kLogBlockBytes> block = {};
  std::copy(bytes.begin(), bytes.end(), block.begin());
  const std::span<const std::byte> piece = block;
  return file.WriteAt(offset, std::span(&piece, 1));
}

std::filesystem::path SegmentFolder::PathOf(int64_t number) const {
  return folder_ / kSegmentName.Of(number);
}

StatusOr<SegmentFolder::Found> SegmentFolder::Open(const NamedSegments& named,
                                                   uint64_t first_epoch) {
  HG_RETURN_IF_ERROR(MakeDurableFolder(folder_, env_.files()));
  HG_ASSIGN_OR_RETURN(const std::vector<std::string> names, env_.files().List(folder_));
  next_epoch_ = std::max<uint64_t>({first_epoch, named.next_epoch, 1});
  Found found;
  for (const NamedSegment& segment : named.used) {
    if (segment.epoch < first_epoch) continue;
    HG_RETURN_IF_ERROR(AddNamed(segment, &found));
  }
  for (const std::string& name : names) {
    const std::optional<int64_t> number = kSegmentName.Number(name);
    if (!number.has_value()) continue;
    next_file_ = std::max(next_file_, *number + 1);
    const bool used = std::any_of(named.used.begin(), named.used.end(), [&](const auto& of) {
      return of.file == *number && of.epoch >= first_epoch;
    });
    if (used) continue;
    Segment file;
    file.path = folder_ / name;
    file.number = *number;
    HG_ASSIGN_OR_RETURN(const Beginning beginning, ReadBeginning(&file));
    if (named.known) {
      AddLeft(std::move(file), beginning, &found);
    } else {
      HG_RETURN_IF_ERROR(AddUnnamed(std::move(file), beginning, first_epoch, &found));
    }
  }
  std::sort(found.segments.begin(), found.segments.end(),
            [](const Segment& a, const Segment& b) { return a.epoch < b.epoch; });
  return found;
}

Status SegmentFolder::AddNamed(const NamedSegment& named, Found* found) const {
  Segment segment;
  segment.path = PathOf(named.file);
  segment.number = named.file;
  const StatusOr<Beginning> beginning = ReadBeginning(&segment);
  const bool missing = absl::IsNotFound(beginning.status());
  std::string wrong;
  if (missing) {
    wrong = "the segment is missing";
  } else {
    HG_RETURN_IF_ERROR(beginning.status());
    if (segment.bytes < named.bytes) {
      wrong = fmt::format("has {} of the {} bytes of the segment", segment.bytes, named.bytes);
    } else if (*beginning != Beginning::kWhole || segment.epoch != named.epoch) {
      wrong = "the header of the segment is damaged";
    }
  }
  if (!wrong.empty() && found->damage.ok()) {
    found->damage = DataLoss("{}: {}: the catalogue names it as a part of the push log",
                             segment.path.string(), wrong);
  }
  if (missing) return OkStatus();
  segment.epoch = named.epoch;  // which its records have, each with a checksum of its own
  segment.end = kLogBlockBytes;
  found->segments.push_back(std::move(segment));
  return OkStatus();
}

// Of a state that an older build left, which named no segments. A header may never have come to the
// disk, or was damaged since: then what its records say counts still.
Status SegmentFolder::AddUnnamed(Segment segment, Beginning beginning, uint64_t first_epoch,
                                 Found* found) {
  if (beginning != Beginning::kWhole) {
    HG_ASSIGN_OR_RETURN(const bool has_records, ReadDamaged(segment, first_epoch, found));
    AddLeft(std::move(segment), has_records ? Beginning::kOther : beginning, found);
    return OkStatus();
  }
  next_epoch_ = std::max(next_epoch_, segment.epoch + 1);
  (segment.epoch >= first_epoch ? found->segments : free_).push_back(std::move(segment));
  return OkStatus();
}

// What a use left that ended, or a process that ended before its header was on the disk; or what
// nobody knows.
void SegmentFolder::AddLeft(Segment segment, Beginning beginning, Found* found) {
  if (beginning == Beginning::kOther) {
    found->unknown.push_back(std::move(segment.path));
  } else {
    free_.push_back(std::move(segment));
  }
}

StatusOr<bool> SegmentFolder::ReadDamaged(const Segment& segment, uint64_t first_epoch,
                                          Found* found) {
  bool has_records = false;
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file,
                      env_.files().OpenToRead(segment.path));
  HG_RETURN_IF_ERROR(VisitHeaders(*file, kLogBlockBytes, segment.bytes, [&](const auto& header) {
    next_epoch_ = std::max(next_epoch_, header.epoch + 1);
    if (header.epoch < first_epoch) return;
    has_records = true;
    found->durable_lsn = std::max(found->durable_lsn, header.durable_lsn);
  }));
  return has_records;
}

StatusOr<SegmentFolder::Beginning> SegmentFolder::ReadBeginning(Segment* segment) const {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file,
                      env_.files().OpenToRead(segment->path));
  HG_ASSIGN_OR_RETURN(segment->bytes, file->Size());
  HG_ASSIGN_OR_RETURN(const std::optional<StoredSegment> stored, ReadHeader(*file, segment->bytes));
  if (!stored.has_value()) {
    HG_ASSIGN_OR_RETURN(const bool begun, IsBegun(*file, segment->bytes));
    return begun ? Beginning::kBegun : Beginning::kOther;
  }
  if (stored->version > kVersion) {
    return FailedPrecondition(
        "{}: format {} of the push log, this build reads {}: use a newer build",
        segment->path.string(), stored->version, kVersion);
  }
  if (stored->stamp != stamp_) {
    return FailedPrecondition("{}: a segment of another state's push log: move it away",
                              segment->path.string());
  }
  segment->epoch = stored->epoch;
  segment->end = kLogBlockBytes;
  return Beginning::kWhole;
}

// Zeros; or a header that is not whole: where one bit of it has flipped, its magic or its stamp is
// there still.
StatusOr<bool> SegmentFolder::IsBegun(const ReadableFile& file, int64_t bytes) const {
  std::array<std::byte, kLogBlockBytes> block = {};
  const auto there = static_cast<size_t>(std::min(bytes, kLogBlockBytes));
  HG_RETURN_IF_ERROR(file.ReadAt(0, std::span(block).first(there)));
  StoredSegment stored;
  std::memcpy(&stored, block.data(), sizeof(stored));
  return stored.magic == kSegmentMagic || stored.stamp == stamp_ ||
         std::all_of(block.begin(), block.end(),
                     [](std::byte byte) { return byte == std::byte(); });
}

StatusOr<Segment> SegmentFolder::Begin(int64_t bytes, int64_t synced_lsn) {
  HG_ASSIGN_OR_RETURN(Segment segment, OpenFile(RoundToBlocks(bytes) + kLogBlockBytes));
  segment.epoch = next_epoch_++;
  segment.end = kLogBlockBytes;
  const auto name = [&]() -> Status {
    HG_RETURN_IF_ERROR(WriteHeader(segment));
    HG_RETURN_IF_ERROR(segment.file->Sync());
    HG_RETURN_IF_ERROR(env_.files().SyncFolder(folder_));
    return names_.NameSegment({segment.number, segment.epoch, segment.bytes}, synced_lsn);
  };
  const Status named = name();
  // The catalogue has no room: this file takes some, and is not named.
  if (absl::IsResourceExhausted(named)) {
    static_cast<void>(env_.files().Remove(segment.path).ok());
  }
  HG_RETURN_IF_ERROR(named);
  return segment;
}

StatusOr<Segment> SegmentFolder::OpenFile(int64_t file_bytes) {
  const auto fits = std::find_if(free_.begin(), free_.end(),
                                 [&](const Segment& file) { return file.bytes >= file_bytes; });
  Segment segment;
  if (fits == free_.end()) {
    segment.number = next_file_++;
    segment.path = PathOf(segment.number);
    segment.bytes = file_bytes;
    HG_ASSIGN_OR_RETURN(segment.file, env_.files().Create(segment.path, segment.bytes, how_));
    return segment;
  }
  segment.number = fits->number;
  segment.path = fits->path;
  segment.bytes = fits->bytes;
  HG_ASSIGN_OR_RETURN(segment.file, env_.files().OpenToWrite(segment.path, how_));
  // A sync that failed in a process before may have dropped the file's size, which this one sees.
  HG_RETURN_IF_ERROR(WriteBlock(*segment.file, segment.bytes - kLogBlockBytes, {}));
  free_.erase(fits);
  return segment;
}

Status SegmentFolder::WriteHeader(const Segment& segment) const {
  StoredSegment stored = {0,      kSegmentMagic, kVersion,      0,
                          stamp_, segment.epoch, segment.bytes, names_.generation()};
  stored.checksum = StoredChecksum(stored, kVersion);
  return WriteBlock(*segment.file, 0, std::as_bytes(std::span(&stored, 1)));
}

void SegmentFolder::Free(const Segment& segment, int64_t usual_bytes) {
  if (segment.bytes > 2 * usual_bytes + kLogBlockBytes) {
    // What cannot be removed is found free again, at the latest when the log is opened next time.
    if (env_.files().Remove(segment.path).ok()) return;
  }
  free_.push_back(segment);
  free_.back().file = nullptr;
}

}  // namespace halograph
