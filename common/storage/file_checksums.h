// Checksums of whole files (headers included) in chunks of 64 MiB, so that fetching can resume
// and a flipped byte is located.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"

namespace halograph {

inline constexpr int64_t kChecksumChunkBytes = int64_t{64} << 20;

struct FileEntry {
  std::string path;  // relative to the folder of the manifest, '/' between components
  int64_t bytes = 0;
  std::vector<std::string> checksums;  // hex, one a chunk; an empty file has none

  bool operator==(const FileEntry&) const = default;
};

// Reads the file once.
[[nodiscard]] StatusOr<FileEntry> ChecksumFile(const std::filesystem::path& folder,
                                               const std::string& relative_path);

// Only existence and size: NotFound, or DataLoss with both sizes.
[[nodiscard]] Status CheckFileSize(const std::filesystem::path& folder, const FileEntry& entry);

// Size and contents: DataLoss naming the file and the byte range of the first chunk that differs.
[[nodiscard]] Status VerifyFile(const std::filesystem::path& folder, const FileEntry& entry);

[[nodiscard]] Json ToJson(const FileEntry& entry);
// DataLoss for a missing or wrong field, and for a path that leaves the folder.
[[nodiscard]] StatusOr<FileEntry> FileEntryFromJson(const Json& value, std::string_view where);

}  // namespace halograph
