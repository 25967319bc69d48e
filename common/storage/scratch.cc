#include "common/storage/scratch.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/huge_pages.h"
#include "common/base/units.h"
#include "common/storage/disk_space.h"

namespace halograph {
namespace {

StatusOr<std::byte*> MapMemory(int64_t bytes, std::string_view what) {
  void* const data = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted("no memory for {} ({})", what, FormatBytes(bytes));
  }
  AskForHugePages(data, static_cast<size_t>(bytes));
  return static_cast<std::byte*>(data);
}

}  // namespace

ScratchArray::~ScratchArray() {
  if (data_ == nullptr) return;
  ::munmap(data_, size_);
  if (!in_file_) *room_ += static_cast<int64_t>(size_);
}

ScratchArray::ScratchArray(ScratchArray&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      in_file_(other.in_file_),
      room_(std::move(other.room_)) {}

ScratchArray& ScratchArray::operator=(ScratchArray&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(in_file_, other.in_file_);
  std::swap(room_, other.room_);
  return *this;
}

ScratchSpace::ScratchSpace(int64_t memory, std::filesystem::path folder)
    : folder_(std::move(folder)), room_(std::make_shared<int64_t>(memory)) {}

StatusOr<ScratchArray> ScratchSpace::Take(int64_t bytes, std::string_view what) {
  ScratchArray array;
  if (bytes == 0) return array;
  array.in_file_ = bytes > *room_;
  HG_ASSIGN_OR_RETURN(array.data_, array.in_file_ ? MapFile(bytes, what) : MapMemory(bytes, what));
  array.size_ = static_cast<size_t>(bytes);
  if (array.in_file_) {
    bytes_in_files_ += bytes;
  } else {
    *room_ -= bytes;
    array.room_ = room_;
  }
  return array;
}

Status ScratchSpace::Check(std::span<const int64_t> sizes) const {
  int64_t before_memory = 0, before_file = 0, most = 0;
  for (const int64_t bytes : sizes) {
    const bool in_file = bytes > *room_ - before_memory;
    const int64_t file = in_file ? bytes : 0;
    most = std::max(most, before_file + file);
    before_file = file;
    before_memory = in_file ? 0 : bytes;
  }
  return most == 0 ? OkStatus() : CheckDiskSpace(folder_, most);
}

StatusOr<std::byte*> ScratchSpace::MapFile(int64_t bytes, std::string_view what) {
  HG_RETURN_IF_ERROR(CheckDiskSpace(folder_, bytes));
  const std::filesystem::path path =
      folder_ / fmt::format("halograph-scratch-{}-{}", ::getpid(), files_++);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) {
    return ErrnoStatus(errno, fmt::format("cannot make a file for {} in", what), folder_.string());
  }
  ::unlink(path.c_str());
  const Status claimed = ClaimDiskSpace(fd, static_cast<size_t>(bytes), what, folder_);
  void* data = MAP_FAILED;
  int error = 0;
  if (claimed.ok()) {
    data = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    error = errno;
  }
  ::close(fd);
  HG_RETURN_IF_ERROR(claimed);
  if (data != MAP_FAILED) return static_cast<std::byte*>(data);
  return ErrnoStatus(error, fmt::format("cannot map {} in", what), folder_.string());
}

}  // namespace halograph
