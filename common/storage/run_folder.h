// A folder for what one run keeps while it lasts: nothing of it is left when the run has ended, and
// what a killed one left is removed by the next that makes such a folder in the same place.
//
// The folder has a file `lock`, which the run has locked and which names its host:
//
//   halograph run folder
//   host <host name>
//   boot <boot id>
//
// Whose lock is free is of a run that is gone, by whatever process number it ran; but hosts that
// share a file system may not see each other's locks. So a folder is removed only if it has this
// file, of this host; after the host began anew, too. All else stays: what has no such file, what
// is of another host, and where the file system locks nothing, where the file is empty.
#pragma once

#include <filesystem>
#include <memory>
#include <utility>

#include "common/base/status.h"

namespace halograph {

// TMPDIR, else /tmp.
[[nodiscard]] std::filesystem::path TemporaryParent();

class RunFolder {
 public:
  // Makes `parent`/halograph-run-XXXXXX, for this user alone, and locks it. It gets that name once
  // it is locked: a process killed before leaves a halograph-new-XXXXXX with at most the lock file,
  // which stays. Then removes the folders that killed runs of this user on this host left in
  // `parent`; one that cannot be removed is in nobody's way. Errors as ErrnoStatus, naming `parent`
  // or what is in it; nothing is left then.
  [[nodiscard]] static StatusOr<std::unique_ptr<RunFolder>> Make(
      const std::filesystem::path& parent);
  // Removes the folder with all in it, the lock file last; nothing in it may be in use any more.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  RunFolder(std::filesystem::path path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}

  const std::filesystem::path path_;
  const int lock_fd_;  // of the lock file
};

}  // namespace halograph
