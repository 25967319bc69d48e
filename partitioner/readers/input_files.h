// Files of an input: whether they changed between two passes, what their folder is called, and
// temporary files made from them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace halograph {

// Tells whether an input file changed between two passes over it. Plain value.
struct FileStamp {
  uint64_t inode = 0;
  int64_t bytes = 0;
  int64_t modified_ns = 0;

  // NotFound if there is no such file.
  [[nodiscard]] static StatusOr<FileStamp> Of(const std::filesystem::path& path);
  bool operator==(const FileStamp&) const = default;
};

// DataLoss, which names the file, if it changed since `first` was taken.
[[nodiscard]] Status CheckUnchanged(const std::filesystem::path& path, const FileStamp& first);

// The name of a data set that has no name of its own: the last component of the folder's absolute
// path ("cora" for "data/cora/", and for "." in it).
[[nodiscard]] inline std::string FolderName(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(folder, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

// Temporary files of one opened data set: made on demand in a folder of their own, removed with the
// object. Thread-safe.
class Scratch {
 public:
  // `parent` is looked at only when the first file is asked for.
  explicit Scratch(std::filesystem::path parent) : parent_(std::move(parent)) {}
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // A path that no file has yet, with `hint` in its name.
  //   InvalidArgument  no scratch folder was given, or it does not exist
  [[nodiscard]] StatusOr<std::filesystem::path> NewFile(std::string_view hint);

 private:
  const std::filesystem::path parent_;
  Mutex mutex_;
  std::filesystem::path folder_ HG_GUARDED_BY(mutex_);  // empty until the first file
  int files_ HG_GUARDED_BY(mutex_) = 0;
};

}  // namespace halograph
