// Room on a disk. It is checked before the work starts, and claimed before a mapping is written, so
// that a full disk is an error and not a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "common/base/status.h"

namespace halograph {

inline constexpr std::string_view kFreeDiskSpace = "free disk space or write elsewhere";

// ResourceExhausted, naming both figures, if the file system of `folder` has less than `bytes`
// free.
[[nodiscard]] Status CheckDiskSpace(const std::filesystem::path& folder, int64_t bytes);

// Of a file system, without what is kept for the superuser.
struct DiskRoom {
  int64_t free_bytes = 0;
  int64_t size_bytes = 0;
};
// That of `folder`. May wait for a disk that hangs. Errors as statvfs.
[[nodiscard]] StatusOr<DiskRoom> ReadDiskRoom(const std::filesystem::path& folder);

// Claims the first `bytes` bytes of an open file. Errors say that there is no room (or else) for
// `what` in `where`:
//   ResourceExhausted  a full disk, a quota, a file too large for its file system
[[nodiscard]] Status ClaimDiskSpace(int fd, size_t bytes, std::string_view what,
                                    const std::filesystem::path& where);

// Whether errno says what ResourceExhausted says above.
[[nodiscard]] bool MeansNoRoom(int error);

}  // namespace halograph
