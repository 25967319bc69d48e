#include "trainer/output/record_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace halograph {
namespace {

// Where the last whole line ends.
StatusOr<off_t> EndOfLines(int fd, off_t size, std::string_view option, const std::string& path) {
  std::array<char, 4096> block;
  while (size > 0) {
    const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(block.size()));
    const auto wanted = static_cast<size_t>(size - begin);
    if (::pread(fd, block.data(), wanted, begin) != static_cast<ssize_t>(wanted)) {
      return ErrnoStatus(errno, fmt::format("{}: reading", option), path);
    }
    const size_t found = std::string_view(block.data(), wanted).rfind('\n');
    if (found != std::string_view::npos) return begin + static_cast<off_t>(found) + 1;
    size = begin;
  }
  return off_t{0};
}

// Only a file can be begun anew, and only of a file can one run be told from another: /dev/stderr
// and a FIFO take the lines of several.
Status Begin(int fd, std::string_view option, const std::string& path, bool go_on) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return ErrnoStatus(errno, "reading what kind of file is", path);
  if (!S_ISREG(info.st_mode)) return OkStatus();
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return FailedPrecondition(
        "{} {}: another run is writing this file; name another one, or wait for its end", option,
        path);
  }
  HG_ASSIGN_OR_RETURN(const off_t end,
                      go_on ? EndOfLines(fd, info.st_size, option, path) : StatusOr<off_t>(0));
  if (::ftruncate(fd, end) == 0 && ::lseek(fd, end, SEEK_SET) == end) return OkStatus();
  return ErrnoStatus(errno, fmt::format("{}: emptying", option), path);
}

// Opens without waiting for somebody who reads a FIFO.
StatusOr<int> OpenToWrite(std::string_view option, const std::string& path, bool go_on) {
  std::error_code ignored;
  const bool read = go_on && std::filesystem::is_regular_file(path, ignored);
  const int fd =
      ::open(path.c_str(), (read ? O_RDWR : O_WRONLY) | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (std::error_code error; fd < 0 && errno == ENXIO && std::filesystem::is_fifo(path, error)) {
    return FailedPrecondition(
        "{} {}: nobody reads this FIFO; start its reader first, or name a file", option, path);
  }
  if (fd < 0 && errno == ENOENT) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::exists(folder, ignored)) {
      return NotFound("{} {}: no folder {}", option, path, folder.string());
    }
    errno = ENOENT;
  }
  if (fd < 0) return ErrnoStatus(errno, fmt::format("{}: creating", option), path);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

}  // namespace

RecordFile::~RecordFile() {
  if (fd_ >= 0) ::close(fd_);
}

StatusOr<RecordFile> RecordFile::Open(std::string_view option, const std::string& path,
                                      bool go_on) {
  HG_ASSIGN_OR_RETURN(const int fd, OpenToWrite(option, path, go_on));
  RecordFile file(fd, path);
  HG_RETURN_IF_ERROR(Begin(fd, option, path, go_on));
  return file;
}

bool RecordFile::is_regular() const {
  struct stat info {};
  return ::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode);
}

Status RecordFile::Append(std::string_view record) {
  for (size_t done = 0; done < record.size();) {
    const ssize_t wrote = ::write(fd_, record.data() + done, record.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int error = errno;
      // That it fails is not told: the error of the write is.
      if (done > 0 && is_regular()) static_cast<void>(TakeBack(done));
      return ErrnoStatus(error, "writing", path_);
    }
    done += static_cast<size_t>(wrote);
  }
  return OkStatus();
}

Status RecordFile::TakeBack(size_t bytes) {
  const off_t end = ::lseek(fd_, -static_cast<off_t>(bytes), SEEK_CUR);
  if (end >= 0 && ::ftruncate(fd_, end) == 0) return OkStatus();
  return ErrnoStatus(errno, "shortening", path_);
}

}  // namespace halograph
