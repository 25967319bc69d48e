// Segment files of the push log (STATE.md): zero-filled, written from front to back, used again
// under a new epoch. Not thread-safe, but for what SegmentFolder says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/state/env.h"

namespace halograph {

// One use of a segment file. Plain values but for the open file.
struct Segment {
  std::filesystem::path path;
  uint64_t epoch = 0;     // uses of all files, numbered in their order
  int64_t bytes = 0;      // of the file
  int64_t end = 0;        // offset behind the last record
  int64_t first_lsn = 0;  // 0: no record
  int64_t last_lsn = 0;
  std::shared_ptr<WritableFile> file;  // null: not open
  bool named = false;                  // its name survives a crash: the folder was synced since
};

// The folder of the segments. One thread at a time.
class SegmentFolder {
 public:
  // `stamp` says whose log it is; `how` the segments that begin are written. Nothing is read.
  SegmentFolder(std::filesystem::path folder, uint64_t stamp, FileSystem::Write how, Env& env)
      : folder_(std::move(folder)), stamp_(stamp), how_(how), env_(env) {}

  // Makes the folder if it is missing, reads the headers of all files, and gives those in use in
  // the order of their epochs. Files of epochs below `first_epoch`, and those whose header is
  // damaged, are free; what records in the latter say of epochs and of syncs counts still. Segments
  // that begin from now on have epochs from `next_epoch` on: a crash may have taken the header of a
  // file's last use, and left its records.
  //   FailedPrecondition  a segment of another state, or of a newer format: its path
  [[nodiscard]] StatusOr<std::vector<Segment>> Open(uint64_t first_epoch, uint64_t next_epoch);

  // A segment with room for `bytes` behind its header, empty, open to write: a free file or a new
  // one. Its header is as durable as its records: a sync of the file covers both, and until then
  // the file is one that is free. Errors of FileSystem.
  [[nodiscard]] StatusOr<Segment> Begin(int64_t bytes);
  // Makes the names of new files survive a crash.
  [[nodiscard]] Status SyncNames() { return env_.files().SyncFolder(folder_); }
  // Its file may be used again. Files much larger than `usual_bytes` are removed instead.
  void Free(const Segment& segment, int64_t usual_bytes);
  // Removes the file, durably.
  [[nodiscard]] Status Remove(const Segment& segment);

  // Up to here the log was synced, as records in files with a damaged header say; 0: none does.
  [[nodiscard]] int64_t durable_lsn() const { return durable_lsn_; }

 private:
  [[nodiscard]] Status ReadSegmentHeader(Segment* segment, bool* whole) const;
  [[nodiscard]] Status ReadDamaged(const Segment& segment, uint64_t first_epoch);

  std::filesystem::path folder_;
  uint64_t stamp_;
  FileSystem::Write how_;
  Env& env_;
  uint64_t next_epoch_ = 1;
  int next_file_ = 1;
  std::vector<Segment> free_;
  int64_t durable_lsn_ = 0;
};

}  // namespace halograph
