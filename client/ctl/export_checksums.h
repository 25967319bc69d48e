// checksums.json of a folder that export made: bytes and checksums of the files beside it, and a
// checksum of itself, so that a byte that was changed is found, whichever it is. Exports of older
// versions have none. Who changes files on purpose removes it. Functions of files; thread-safe.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "common/base/status.h"

namespace halograph {

inline constexpr char kChecksumsFile[] = "checksums.json";

// Reads `files`, relative to `folder`, and writes what they have. Errors as ChecksumFile and
// WriteFileAtomically.
[[nodiscard]] Status WriteExportChecksums(const std::filesystem::path& folder,
                                          std::span<const std::string> files);

// Whether the folder has checksums. If so, `files` have them, and are as they were written:
//   NotFound  a file is missing
//   DataLoss  a file differs, or checksums.json itself, or it does not have the file: path
[[nodiscard]] StatusOr<bool> CheckExportChecksums(const std::filesystem::path& folder,
                                                  std::span<const std::string> files);

}  // namespace halograph
