#include "trainer/output/record_file.h"

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace halograph {
namespace {

// Removes the last `bytes` of a regular file. Failure is ignored: the error of the write is told.
void TakeBack(int fd, size_t bytes) {
  struct stat info {};
  if (bytes == 0 || ::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return;
  const off_t end = ::lseek(fd, -static_cast<off_t>(bytes), SEEK_CUR);
  if (end >= 0) static_cast<void>(::ftruncate(fd, end) == 0);
}

}  // namespace

RecordFile::~RecordFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status RecordFile::Append(std::string_view record) {
  for (size_t done = 0; done < record.size();) {
    const ssize_t wrote = ::write(fd_, record.data() + done, record.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int error = errno;
      TakeBack(fd_, done);
      return ErrnoStatus(error, "writing", path_);
    }
    done += static_cast<size_t>(wrote);
  }
  return OkStatus();
}

}  // namespace halograph
