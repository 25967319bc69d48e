#include "trainer/output/train_log.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace halograph {
namespace {

// Only a file can be begun anew, and only of a file can one run be told from another: /dev/stderr
// and a FIFO take the lines of several.
Status BeginAnew(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return ErrnoStatus(errno, "reading what kind of file is", path);
  if (!S_ISREG(info.st_mode)) return OkStatus();
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return FailedPrecondition(
        "--log {}: another run is writing this file; name another one, or wait for its end", path);
  }
  return ::ftruncate(fd, 0) == 0 ? OkStatus() : ErrnoStatus(errno, "emptying log", path);
}

// Opens without waiting for somebody who reads a FIFO.
StatusOr<int> OpenToWrite(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (std::error_code error; fd < 0 && errno == ENXIO && std::filesystem::is_fifo(path, error)) {
    return FailedPrecondition(
        "--log {}: nobody reads this FIFO; start its reader first, or name a file", path);
  }
  if (fd < 0) return ErrnoStatus(errno, "creating log", path);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

}  // namespace

StatusOr<TrainLog> TrainLog::Create(const std::string& path) {
  TrainLog log;
  log.path_ = path;
  if (path.empty()) return log;
  HG_ASSIGN_OR_RETURN(const int fd, OpenToWrite(path));
  log.file_.reset(::fdopen(fd, "w"));
  if (log.file_ == nullptr) {
    const int error = errno;
    ::close(fd);
    return ErrnoStatus(error, "creating log", path);
  }
  HG_RETURN_IF_ERROR(BeginAnew(fd, path));
  return log;
}

Status TrainLog::Write(const Json& line) {
  if (file_ == nullptr) return OkStatus();
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
      std::fflush(file_.get()) != 0) {
    return ErrnoStatus(errno, "writing log", path_);
  }
  return OkStatus();
}

}  // namespace halograph
