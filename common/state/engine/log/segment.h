// Segment files of the push log (STATE.md): zero-filled, written from front to back, used again
// under a new epoch. The catalogue names each use before its first record, and its header is on the
// disk by then: so a named segment that is missing, shorter or without its header is damage, and
// what no name leads to holds nothing that counts. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/state/engine/log/numbered_name.h"
#include "common/state/env.h"

namespace halograph {

// One use of a segment file. Plain values but for the open file.
struct Segment {
  std::filesystem::path path;
  int64_t number = 0;     // of the file
  uint64_t epoch = 0;     // uses of all files, numbered in their order
  int64_t bytes = 0;      // of the file
  int64_t end = 0;        // offset behind the last record
  int64_t first_lsn = 0;  // 0: no record
  int64_t last_lsn = 0;
  std::shared_ptr<WritableFile> file;  // null: not open
};

struct NamedSegment {
  int64_t file = 0;  // number
  uint64_t epoch = 0;
  int64_t bytes = 0;
};
struct NamedSegments {
  bool known = false;  // not: an older build made the state, and named none
  std::vector<NamedSegment> used;
  uint64_t next_epoch = 1;  // no segment was named with this one or a later one
};

// What names segments: the catalogue. Thread-safe.
class SegmentNames {
 public:
  virtual ~SegmentNames() = default;
  // Of the catalogue: which write of it a file has seen.
  [[nodiscard]] virtual int64_t generation() const = 0;
  // One more, or another use of a file that is named; and up to where the log was synced. Durable
  // on return, here and below; errors of CatalogueFile::Write.
  [[nodiscard]] virtual Status NameSegment(const NamedSegment& segment, int64_t synced_lsn) = 0;
  [[nodiscard]] virtual Status ForgetSegment(int64_t file) = 0;
  // These instead of those that were named, and up to where the log was synced. Nothing is written
  // if that is what the catalogue says.
  [[nodiscard]] virtual Status SetSegments(const NamedSegments& segments, int64_t synced_lsn) = 0;
};

inline constexpr NumberedName kSegmentName = {"segment-", 6};

// Which write of the catalogue the header at `path` saw. Null: the header is of an older build, or
// damaged. Errors of FileSystem.
[[nodiscard]] StatusOr<std::optional<int64_t>> CatalogueSeenBySegment(
    const std::filesystem::path& path, FileSystem& files);

// The folder of the segments. One thread at a time.
class SegmentFolder {
 public:
  // `stamp` says whose log it is; `how` the segments that begin are written. Nothing is read.
  SegmentFolder(std::filesystem::path folder, uint64_t stamp, FileSystem::Write how,
                SegmentNames& names, Env& env)
      : folder_(std::move(folder)), stamp_(stamp), how_(how), names_(names), env_(env) {}

  struct Found {
    std::vector<Segment> segments;  // in the order of their epochs; of damaged ones what is there
    Status damage;                  // the first segment that is damaged, if any is
    int64_t durable_lsn = 0;        // up to here the log was synced, as unnamed damaged ones say
    std::vector<std::filesystem::path> unknown;  // with a name and bytes that nothing here wrote
  };
  // Makes the folder if it is missing, and gives the segments of epochs from `first_epoch` on that
  // are named. If none are known: those whose headers are whole. Other files that begin as a
  // segment does, or with zeros, are free: a crash in the middle of making one leaves them.
  //   FailedPrecondition  a segment of another state, or of a newer format: its path
  [[nodiscard]] StatusOr<Found> Open(const NamedSegments& named, uint64_t first_epoch);

  // A segment with room for `bytes` behind its header, empty, open to write, and named: a free file
  // or a new one. `synced_lsn`: up to here the log was synced. Errors of FileSystem and
  // SegmentNames.
  [[nodiscard]] StatusOr<Segment> Begin(int64_t bytes, int64_t synced_lsn);
  // Its file, which is not named any more, may be used again. Files much larger than `usual_bytes`
  // are removed instead.
  void Free(const Segment& segment, int64_t usual_bytes);

  // Of the next segment that begins.
  [[nodiscard]] uint64_t next_epoch() const { return next_epoch_; }

 private:
  // Of a file.
  enum class Beginning {
    kWhole,  // the header of a segment of this state
    kBegun,  // what a crash in the middle of making a segment leaves, or a flipped bit of a header
    kOther,
  };

  [[nodiscard]] Status AddNamed(const NamedSegment& named, Found* found) const;
  [[nodiscard]] Status AddUnnamed(Segment segment, Beginning beginning, uint64_t first_epoch,
                                  Found* found);
  void AddLeft(Segment segment, Beginning beginning, Found* found);
  // Fills the bytes of the segment, and what its header says if that is whole.
  [[nodiscard]] StatusOr<Beginning> ReadBeginning(Segment* segment) const;
  [[nodiscard]] StatusOr<bool> IsBegun(const ReadableFile& file, int64_t bytes) const;
  // Whether it has records from that epoch on.
  [[nodiscard]] StatusOr<bool> ReadDamaged(const Segment& segment, uint64_t first_epoch,
                                           Found* found);
  [[nodiscard]] std::filesystem::path PathOf(int64_t number) const;
  [[nodiscard]] StatusOr<Segment> OpenFile(int64_t file_bytes);
  [[nodiscard]] static Status WriteBlock(WritableFile& file, int64_t offset,
                                         std::span<const std::byte> bytes);
  [[nodiscard]] Status WriteHeader(const Segment& segment) const;

  std::filesystem::path folder_;
  uint64_t stamp_;
  FileSystem::Write how_;
  SegmentNames& names_;
  Env& env_;
  uint64_t next_epoch_ = 1;
  int64_t next_file_ = 1;
  std::vector<Segment> free_;
};

}  // namespace halograph
