// What tells that an input file changed between two passes over it. Plain values.
#pragma once

#include <cstdint>
#include <filesystem>

#include "common/base/status.h"

namespace halograph {

struct FileStamp {
  uint64_t inode = 0;
  int64_t bytes = 0;
  int64_t modified_ns = 0;

  // NotFound if there is no such file.
  [[nodiscard]] static StatusOr<FileStamp> Of(const std::filesystem::path& path);
  bool operator==(const FileStamp&) const = default;
};

// DataLoss naming the file if it is no longer what `first` was taken of.
[[nodiscard]] Status CheckUnchanged(const std::filesystem::path& path, const FileStamp& first);

}  // namespace halograph
