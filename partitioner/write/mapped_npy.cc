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

#include "common/storage/npy.h"
#include "partitioner/write/raw_file.h"

namespace halograph {
namespace {

// Releasing in smaller steps costs more calls than it saves memory.
constexpr size_t kReleaseBytes = size_t{8} << 20;

}  // namespace

StatusOr<MappedNpy> MappedNpy::Create(const std::filesystem::path& path, const TensorSpec& spec,
                                      int64_t rows) {
  const StoredArray stored = StoredAs(spec.dtype, spec.rank, spec.dim);
  return Create(path, stored.dtype, rows, stored.cols, stored.rank);
}

StatusOr<MappedNpy> MappedNpy::Create(const std::filesystem::path& path, DType dtype, int64_t rows,
                                      int64_t cols, int rank) {
  MappedNpy npy;
  npy.path_ = path;
  npy.rows_ = rows;
  npy.row_bytes_ = static_cast<size_t>(cols) * DTypeSize(dtype);
  const std::array<int64_t, 2> shape = {rows, cols};
  const std::string header =
      EncodeNpyHeader(dtype, std::span(shape).first(static_cast<size_t>(rank)));
  npy.header_bytes_ = header.size();
  const size_t bytes = header.size() + npy.row_bytes_ * static_cast<size_t>(rows);
  // Closed once it is mapped: there are thousands of such files, and few descriptors.
  HG_ASSIGN_OR_RETURN(const RawFile file, RawFile::Create(path));
  HG_RETURN_IF_ERROR(file.Reserve(bytes));
  void* mapping = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
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
  rows_ = other.rows_;
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

Status MappedNpy::Close() {
  Unmap();
  HG_ASSIGN_OR_RETURN(const RawFile file, RawFile::Open(path_));
  file.StartWriting(0, 0);
  return OkStatus();
}

Status SyncFileSystem(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "cannot open folder", folder.string());
  const int error = ::syncfs(fd) == 0 ? 0 : errno;
  ::close(fd);
  return error == 0 ? OkStatus() : ErrnoStatus(error, "cannot sync", folder.string());
}

}  // namespace halograph
