#include "common/storage/disk_space.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/statvfs.h>

#include "common/base/units.h"

namespace halograph {

StatusOr<DiskRoom> ReadDiskRoom(const std::filesystem::path& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) {
    return ErrnoStatus(errno, "cannot read the free space of", folder.string());
  }
  const auto bytes = [&](fsblkcnt_t blocks) {
    // Some network file systems say that they have no end.
    const double all = static_cast<double>(blocks) * static_cast<double>(info.f_frsize);
    return static_cast<int64_t>(std::min(all, 9e18));
  };
  return DiskRoom{.free_bytes = bytes(info.f_bavail), .size_bytes = bytes(info.f_blocks)};
}

Status CheckDiskSpace(const std::filesystem::path& folder, int64_t bytes) {
  HG_ASSIGN_OR_RETURN(const DiskRoom room, ReadDiskRoom(folder));
  if (bytes <= room.free_bytes) return OkStatus();
  return ResourceExhausted("{}: {} are needed, {} are free; make room or write elsewhere",
                           folder.string(), FormatBytes(bytes), FormatBytes(room.free_bytes));
}

Status ClaimDiskSpace(int fd, size_t bytes, std::string_view what,
                      const std::filesystem::path& where) {
  int error = 0;
  do {
    error = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error == 0) return OkStatus();
  if (!MeansNoRoom(error)) {
    return ErrnoStatus(error, fmt::format("cannot reserve space for {} in", what), where.string());
  }
  return ResourceExhausted("{}: no room for {} ({}, {}); {}", where.string(), what,
                           FormatBytes(static_cast<int64_t>(bytes)), std::strerror(error),
                           kFreeDiskSpace);
}

bool MeansNoRoom(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

}  // namespace halograph
