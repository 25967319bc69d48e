#include "partitioner/write/npy_appender.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/units.h"
#include "common/storage/file.h"
#include "common/storage/npy.h"

namespace halograph {
namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;
// Pages that wait for the disk: a window is started when it is full, and the one before it must be
// done by then, so that no run leaves more than two behind.
constexpr int64_t kWindowBytes = int64_t{32} << 20;

}  // namespace

std::string NpyAppender::Header(int64_t rows) const {
  const std::array<int64_t, 1> shape = {rows};
  return EncodeNpyHeader(dtype_, shape, false, static_cast<size_t>(header_bytes_));
}

StatusOr<NpyAppender> NpyAppender::Create(const std::filesystem::path& path, DType dtype) {
  HG_RETURN_IF_ERROR(MakeFolder(path.parent_path()));
  NpyAppender npy;
  npy.path_ = path;
  npy.dtype_ = dtype;
  npy.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (npy.fd_ < 0) return ErrnoStatus(errno, "cannot create", path.string());
  const std::string header = npy.Header(std::numeric_limits<int64_t>::max());
  npy.header_bytes_ = static_cast<int64_t>(header.size());
  HG_RETURN_IF_ERROR(npy.Append(std::as_bytes(std::span(header))));
  return npy;
}

NpyAppender::~NpyAppender() {
  if (fd_ >= 0) ::close(fd_);
}

NpyAppender::NpyAppender(NpyAppender&& other) noexcept { *this = std::move(other); }

NpyAppender& NpyAppender::operator=(NpyAppender&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) ::close(fd_);
  path_ = std::move(other.path_);
  dtype_ = other.dtype_;
  fd_ = std::exchange(other.fd_, -1);
  header_bytes_ = other.header_bytes_;
  flushed_ = other.flushed_;
  started_ = other.started_;
  buffer_ = std::move(other.buffer_);
  return *this;
}

Status NpyAppender::Append(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) HG_RETURN_IF_ERROR(Flush());
  if (bytes.size() <= kBufferBytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return OkStatus();
  }
  return Put(bytes);
}

Status NpyAppender::Flush() {
  HG_RETURN_IF_ERROR(Put(buffer_));
  buffer_.clear();
  return OkStatus();
}

// At the end of the file.
Status NpyAppender::Put(std::span<const std::byte> bytes) {
  HG_RETURN_IF_ERROR(WriteAt(flushed_, bytes));
  flushed_ += static_cast<int64_t>(bytes.size());
  if (flushed_ - started_ < kWindowBytes) return OkStatus();
  // Where this cannot be had the kernel decides when to write, and nothing is lost.
  const int64_t before = std::max<int64_t>(0, started_ - kWindowBytes);
  static_cast<void>(::sync_file_range(fd_, started_, flushed_ - started_, SYNC_FILE_RANGE_WRITE));
  if (started_ > before) {
    static_cast<void>(
        ::sync_file_range(fd_, before, started_ - before, SYNC_FILE_RANGE_WAIT_BEFORE));
  }
  started_ = flushed_;
  return OkStatus();
}

Status NpyAppender::WriteAt(int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
      return ResourceExhausted(
          "{}: no room for more than {} ({}); free disk space or write elsewhere", path_.string(),
          FormatBytes(offset), std::strerror(errno));
    }
    if (written < 0) return ErrnoStatus(errno, "cannot write", path_.string());
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
  return OkStatus();
}

Status NpyAppender::Close() {
  const int64_t bytes = flushed_ + static_cast<int64_t>(buffer_.size());
  const std::string header =
      Header((bytes - header_bytes_) / static_cast<int64_t>(DTypeSize(dtype_)));
  if (flushed_ == 0) {  // small files take one write
    std::memcpy(buffer_.data(), header.data(), header.size());
  } else {
    HG_RETURN_IF_ERROR(WriteAt(0, std::as_bytes(std::span(header))));
  }
  HG_RETURN_IF_ERROR(Flush());
  // Only a start: file systems that cannot, or have nothing to write, lose nothing.
  static_cast<void>(::sync_file_range(fd_, 0, 0, SYNC_FILE_RANGE_WRITE));
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0) return ErrnoStatus(errno, "cannot close", path_.string());
  return OkStatus();
}

}  // namespace halograph
