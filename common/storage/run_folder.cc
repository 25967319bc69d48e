#include "common/storage/run_folder.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/host_name.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr char kRunFolderPrefix[] = "halograph-run-";
constexpr char kNewFolderPrefix[] = "halograph-new-";
constexpr char kAnyName[] = "XXXXXX";
constexpr size_t kAnyNameSize = sizeof(kAnyName) - 1;
constexpr char kLockFile[] = "lock";

// How the lock file of this host's runs begins; empty where the host has no name.
std::string LockBegins() {
  const std::string host = HostName();
  return host.empty() ? "" : "halograph run folder\nhost " + host + "\n";
}

// For a person who looks for the run: which start of the host it was.
std::string BootLine() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return "boot " + id + "\n";
}

bool CannotLockHere(int error) { return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL; }

Status WriteLockText(int fd, const std::string& path) {
  const std::string begins = LockBegins();
  if (begins.empty()) return OkStatus();
  const std::string text = begins + BootLine();
  const ssize_t written = ::pwrite(fd, text.data(), text.size(), 0);
  if (written == std::ssize(text)) return OkStatus();
  return ErrnoStatus(written < 0 ? errno : ENOSPC, "cannot write", path);
}

// The open lock file of a folder that was just made. Where nothing can be locked it stays empty,
// and nobody removes the folder.
StatusOr<int> LockNew(const fs::path& folder) {
  const std::string path = folder / kLockFile;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, "cannot make", path);
  Status status;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
    status = WriteLockText(fd, path);
  } else if (!CannotLockHere(errno)) {
    status = ErrnoStatus(errno, "cannot lock", path);
  }
  if (status.ok()) return fd;
  ::close(fd);
  return status;
}

// The lock file last: what is left if this is ended early is still known as a run's.
void RemoveLockLast(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().filename() != kLockFile) found.push_back(entry->path());
  }
  for (const fs::path& path : found) {
    fs::remove_all(path, error);
    if (error) return;
  }
  fs::remove_all(folder, error);
}

bool IsOwn(const struct stat& found, mode_t kind) {
  return (found.st_mode & S_IFMT) == kind && found.st_uid == ::geteuid();
}

// The open lock file of a folder that a run of this user on this host made; -1: it is none.
int OpenLockOf(const fs::path& folder) {
  const std::string begins = LockBegins();
  struct stat found = {};
  if (begins.empty() || ::lstat(folder.c_str(), &found) != 0 || !IsOwn(found, S_IFDIR)) return -1;
  const fs::path path = folder / kLockFile;
  const int fd = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return -1;
  std::string text(begins.size(), '\0');
  if (::fstat(fd, &found) == 0 && IsOwn(found, S_IFREG) &&
      ::pread(fd, text.data(), text.size(), 0) == std::ssize(text) && text == begins) {
    return fd;
  }
  ::close(fd);
  return -1;
}

// Whether the path still leads to what was opened.
bool IsThere(const fs::path& path, int fd) {
  struct stat opened = {}, named = {};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void RemoveIfKilled(const fs::path& folder) {
  const int fd = OpenLockOf(folder);
  if (fd < 0) return;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && IsThere(folder / kLockFile, fd)) {
    RemoveLockLast(folder);
  }
  ::close(fd);
}

bool IsNameOfRun(const std::string& name) {
  return name.starts_with(kRunFolderPrefix) &&
         name.size() == sizeof(kRunFolderPrefix) - 1 + kAnyNameSize;
}

void RemoveFoldersOfKilledRuns(const fs::path& parent) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(parent, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (IsNameOfRun(entry->path().filename().string())) found.push_back(entry->path());
  }
  for (const fs::path& path : found) RemoveIfKilled(path);
}

}  // namespace

fs::path TemporaryParent() {
  const char* const named = std::getenv("TMPDIR");
  return named == nullptr || *named == '\0' ? "/tmp" : named;
}

StatusOr<std::unique_ptr<RunFolder>> RunFolder::Make(const fs::path& parent) {
  std::string made = (parent / kNewFolderPrefix).string() + kAnyName;
  if (::mkdtemp(made.data()) == nullptr) {
    return ErrnoStatus(errno, "cannot make a folder in", parent.string());
  }
  const fs::path path = parent / (kRunFolderPrefix + made.substr(made.size() - kAnyNameSize));
  const StatusOr<int> lock = LockNew(made);
  if (!lock.ok()) {
    RemoveLockLast(made);
    return lock.status();
  }
  if (::rename(made.c_str(), path.c_str()) != 0) {
    const Status status = ErrnoStatus(errno, "cannot rename a new folder to", path.string());
    RemoveLockLast(made);
    ::close(*lock);
    return status;
  }
  RemoveFoldersOfKilledRuns(parent);  // but for those that are locked, as this one is
  return std::unique_ptr<RunFolder>(new RunFolder(path, *lock));
}

RunFolder::~RunFolder() {
  RemoveLockLast(path_);
  ::close(lock_fd_);
}

}  // namespace halograph
