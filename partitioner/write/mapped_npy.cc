#include "partitioner/write/mapped_npy.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/units.h"
#include "common/storage/file.h"
#include "common/storage/npy.h"

namespace halograph {
namespace {

// A descriptor that is closed on every way out.
class ScopedFd {
 public:
  explicit ScopedFd(int fd) : fd_(fd) {}
  ~ScopedFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  ScopedFd(const ScopedFd&) = delete;
  ScopedFd& operator=(const ScopedFd&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

// Releasing in smaller steps costs more calls than it saves memory.
constexpr size_t kReleaseBytes = size_t{8} << 20;

std::string Header(DType dtype, int64_t rows, int64_t cols, int rank, size_t minimum_bytes) {
  const std::array<int64_t, 2> shape = {rows, cols};
  return EncodeNpyHeader(dtype, std::span(shape).first(static_cast<size_t>(rank)), false,
                         minimum_bytes);
}

Status ReserveSpace(int fd, size_t bytes, const std::string& path) {
  int error = 0;
  do {
    error = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  if (error == 0) return OkStatus();
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return ResourceExhausted("{}: no room for its {} ({}); free disk space or write elsewhere",
                             path, FormatBytes(static_cast<int64_t>(bytes)), std::strerror(error));
  }
  return ErrnoStatus(error, "cannot reserve space for", path);
}

}  // namespace

StatusOr<MappedNpy> MappedNpy::Create(const std::filesystem::path& path, DType dtype, int64_t rows,
                                      int64_t cols, int rank) {
  HG_RETURN_IF_ERROR(MakeFolder(path.parent_path()));
  MappedNpy npy;
  npy.path_ = path;
  npy.dtype_ = dtype;
  npy.rank_ = rank;
  npy.rows_ = rows;
  npy.cols_ = cols;
  npy.row_bytes_ = static_cast<size_t>(cols) * DTypeSize(dtype);
  const std::string header = Header(dtype, rows, cols, rank, 0);
  npy.header_bytes_ = header.size();
  const size_t bytes = header.size() + npy.row_bytes_ * static_cast<size_t>(rows);

  const ScopedFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (fd.get() < 0) return ErrnoStatus(errno, "cannot create", path.string());
  HG_RETURN_IF_ERROR(ReserveSpace(fd.get(), bytes, path.string()));
  void* mapping = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (mapping == MAP_FAILED) return ErrnoStatus(errno, "cannot map", path.string());
  npy.mapping_ = static_cast<std::byte*>(mapping);
  npy.mapped_bytes_ = bytes;
  std::memcpy(npy.mapping_, header.data(), header.size());
  return npy;
}

MappedNpy::~MappedNpy() { Unmap(); }

MappedNpy::MappedNpy(MappedNpy&& other) noexcept { *this = std::move(other); }

MappedNpy& MappedNpy::operator=(MappedNpy&& other) noexcept {
  if (this == &other) return *this;
  Unmap();
  path_ = std::move(other.path_);
  dtype_ = other.dtype_;
  rank_ = other.rank_;
  rows_ = other.rows_;
  cols_ = other.cols_;
  row_bytes_ = other.row_bytes_;
  header_bytes_ = other.header_bytes_;
  released_ = other.released_;
  mapping_ = std::exchange(other.mapping_, nullptr);
  mapped_bytes_ = std::exchange(other.mapped_bytes_, 0);
  return *this;
}

void MappedNpy::Unmap() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_bytes_);
  mapping_ = nullptr;
}

void MappedNpy::ReleaseBefore(int64_t row) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t end = (header_bytes_ + static_cast<size_t>(row) * row_bytes_) / page * page;
  if (end < released_ + kReleaseBytes) return;
  // Of a shared file mapping this drops the mapping of the pages, never what was written.
  ::madvise(mapping_ + released_, end - released_, MADV_DONTNEED);
  released_ = end;
}

Status MappedNpy::Truncate(int64_t rows) {
  if (rows > rows_) {
    return FailedPrecondition("{}: cannot be cut to {} rows, it has {}", path_.string(), rows,
                              rows_);
  }
  if (rows == rows_) return OkStatus();
  const std::string header = Header(dtype_, rows, cols_, rank_, header_bytes_);
  std::memcpy(mapping_, header.data(), header.size());
  Unmap();
  const size_t bytes = header_bytes_ + row_bytes_ * static_cast<size_t>(rows);
  const ScopedFd fd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  if (fd.get() < 0) return ErrnoStatus(errno, "cannot open", path_.string());
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return ErrnoStatus(errno, "cannot cut", path_.string());
  }
  void* mapping = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (mapping == MAP_FAILED) return ErrnoStatus(errno, "cannot map", path_.string());
  mapping_ = static_cast<std::byte*>(mapping);
  mapped_bytes_ = bytes;
  rows_ = rows;
  return OkStatus();
}

Status MappedNpy::Close() {
  Unmap();
  const ScopedFd fd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  if (fd.get() < 0) return ErrnoStatus(errno, "cannot open", path_.string());
  // Only a start: file systems that cannot, or have nothing to write, lose nothing.
  static_cast<void>(::sync_file_range(fd.get(), 0, 0, SYNC_FILE_RANGE_WRITE));
  return OkStatus();
}

Status SyncFileSystem(const std::filesystem::path& folder) {
  const ScopedFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return ErrnoStatus(errno, "cannot open folder", folder.string());
  if (::syncfs(fd.get()) != 0) return ErrnoStatus(errno, "cannot sync", folder.string());
  return OkStatus();
}

}  // namespace halograph
