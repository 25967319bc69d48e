// A folder for what one run keeps while it lasts: nothing of it is left when the run has ended, and
// what a killed one left is removed by the next that makes such a folder in the same place.
//
// A run locks its folder. A folder whose lock is free is of a run that is gone, in whatever
// container or by whatever process number it ran. Where the file system locks nothing, folders of
// killed runs stay.
#pragma once

#include <filesystem>
#include <memory>

#include "common/base/status.h"

namespace halograph {

// TMPDIR, else /tmp.
[[nodiscard]] std::filesystem::path TemporaryParent();

class RunFolder {
 public:
  // Makes `parent`/halograph-run-XXXXXX, for this user alone, and locks it. Then removes the
  // folders of that name that killed runs of this user left in `parent`; one that cannot be removed
  // is in nobody's way. Errors as ErrnoStatus, with `parent`.
  [[nodiscard]] static StatusOr<std::unique_ptr<RunFolder>> Make(
      const std::filesystem::path& parent);
  // Removes the folder with all in it; nothing in it may be in use any more.
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  RunFolder(std::filesystem::path path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}

  const std::filesystem::path path_;
  const int lock_fd_;  // of the folder itself
};

}  // namespace halograph
