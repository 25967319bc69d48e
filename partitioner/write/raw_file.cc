#include "partitioner/write/raw_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/units.h"
#include "common/storage/file.h"

namespace halograph {

RawFile::RawFile(int fd, std::filesystem::path path) : fd_(fd), path_(std::move(path)) {}

StatusOr<RawFile> RawFile::Create(const std::filesystem::path& path) {
  HG_RETURN_IF_ERROR(MakeFolder(path.parent_path()));
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, "cannot create", path.string());
  return RawFile(fd, path);
}

StatusOr<RawFile> RawFile::Open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "cannot open", path.string());
  return RawFile(fd, path);
}

RawFile::~RawFile() {
  if (fd_ >= 0) ::close(fd_);
}

RawFile::RawFile(RawFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

RawFile& RawFile::operator=(RawFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

Status RawFile::Reserve(size_t bytes) const {
  return ClaimDiskSpace(fd_, bytes, "this file", path_);
}

Status RawFile::WriteAt(int64_t offset, std::span<const std::byte> bytes,
                        std::string_view advice) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && MeansNoRoom(errno)) {
      return ResourceExhausted("{}: the disk is full after {} ({}); {}", path_.string(),
                               FormatBytes(offset), std::strerror(errno), advice);
    }
    if (written < 0) return ErrnoStatus(errno, "cannot write", path_.string());
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
  return OkStatus();
}

Status RawFile::ReadAt(int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(fd_, bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "cannot read", path_.string());
    if (got == 0) return DataLoss("{}: ends before byte {}", path_.string(), offset);
    bytes = bytes.subspan(static_cast<size_t>(got));
    offset += got;
  }
  return OkStatus();
}

void RawFile::StartWriting(int64_t offset, int64_t bytes) const {
  static_cast<void>(::sync_file_range(fd_, offset, bytes, SYNC_FILE_RANGE_WRITE));
}

Status RawFile::Close() {
  if (::close(std::exchange(fd_, -1)) == 0) return OkStatus();
  return ErrnoStatus(errno, "cannot close", path_.string());
}

}  // namespace halograph
