#include "trainer/output/train_log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace halograph {
namespace {

// Where the last whole line ends.
StatusOr<off_t> EndOfLines(int fd, off_t size, const std::string& path) {
  std::array<char, 4096> block;
  while (size > 0) {
    const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(block.size()));
    const auto wanted = static_cast<size_t>(size - begin);
    if (::pread(fd, block.data(), wanted, begin) != static_cast<ssize_t>(wanted)) {
      return ErrnoStatus(errno, "reading log", path);
    }
    const size_t found = std::string_view(block.data(), wanted).rfind('\n');
    if (found != std::string_view::npos) return begin + static_cast<off_t>(found) + 1;
    size = begin;
  }
  return off_t{0};
}

// Only a file can be begun anew, and only of a file can one run be told from another: /dev/stderr
// and a FIFO take the lines of several.
Status Begin(int fd, const std::string& path, bool go_on) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return ErrnoStatus(errno, "reading what kind of file is", path);
  if (!S_ISREG(info.st_mode)) return OkStatus();
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return FailedPrecondition(
        "--log {}: another run is writing this file; name another one, or wait for its end", path);
  }
  HG_ASSIGN_OR_RETURN(const off_t end,
                      go_on ? EndOfLines(fd, info.st_size, path) : StatusOr<off_t>(0));
  if (::ftruncate(fd, end) == 0 && ::lseek(fd, end, SEEK_SET) == end) return OkStatus();
  return ErrnoStatus(errno, "emptying log", path);
}

// Opens without waiting for somebody who reads a FIFO.
StatusOr<int> OpenToWrite(const std::string& path, bool go_on) {
  std::error_code ignored;
  const bool read = go_on && std::filesystem::is_regular_file(path, ignored);
  const int fd =
      ::open(path.c_str(), (read ? O_RDWR : O_WRONLY) | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (std::error_code error; fd < 0 && errno == ENXIO && std::filesystem::is_fifo(path, error)) {
    return FailedPrecondition(
        "--log {}: nobody reads this FIFO; start its reader first, or name a file", path);
  }
  if (fd < 0 && errno == ENOENT) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::exists(folder, ignored)) {
      return NotFound("--log {}: no folder {}", path, folder.string());
    }
    errno = ENOENT;
  }
  if (fd < 0) return ErrnoStatus(errno, "creating log", path);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

}  // namespace

StatusOr<TrainLog> TrainLog::Create(const std::string& path) { return Open(path, false); }

StatusOr<TrainLog> TrainLog::GoOn(const std::string& path) { return Open(path, true); }

StatusOr<TrainLog> TrainLog::Open(const std::string& path, bool go_on) {
  TrainLog log;
  if (path.empty()) return log;
  HG_ASSIGN_OR_RETURN(const int fd, OpenToWrite(path, go_on));
  log.file_ = RecordFile(fd, path);
  HG_RETURN_IF_ERROR(Begin(fd, path, go_on));
  return log;
}

Status TrainLog::Write(const Json& line) {
  if (!file_.is_open()) return OkStatus();
  return file_.Append(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace halograph
