#include "partitioner/methods/lp_metis/mapped_array.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/storage/disk_space.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

// A file without a name; -1 and errno if there can be none.
int OpenUnnamed(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  // File systems without such files: one that loses its name at once.
  std::string name = (folder / "scratch-XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

StatusOr<ScratchMapping> ScratchMapping::Create(const fs::path& folder, size_t bytes,
                                                std::string_view what) {
  ScratchMapping result;
  if (bytes == 0) return result;
  std::error_code ignored;
  const fs::path place = folder.empty() ? fs::temp_directory_path(ignored) : folder;
  const int fd = OpenUnnamed(place);
  if (fd < 0) {
    return ErrnoStatus(errno, fmt::format("cannot create a file for {} in", what), place.string());
  }
  Status status = ClaimDiskSpace(fd, bytes, what, place);
  if (status.ok()) {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
      status = ErrnoStatus(errno, fmt::format("cannot map {} in", what), place.string());
    } else {
      result.data_ = data;
      result.bytes_ = bytes;
    }
  }
  ::close(fd);
  HG_RETURN_IF_ERROR(status);
  return result;
}

void ScratchMapping::Release(size_t begin, size_t end) const {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  // Of a shared file mapping this drops the mapping of the pages, never what was written.
  if (begin < end) ::madvise(static_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

void ScratchMapping::Unmap() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  data_ = nullptr;
}

}  // namespace halograph
