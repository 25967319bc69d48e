#include "common/storage/run_folder.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr char kRunFolderPrefix[] = "halograph-run-";
// How often another run may take a new folder for that of a killed one, before it is locked.
constexpr int kMostTries = 100;

int OpenNoLink(const fs::path& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Whether the path still leads to what was opened.
bool IsThere(const fs::path& path, int fd) {
  struct stat opened = {}, named = {};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// The lock of a folder that was just made; -1: another run took it first, and removes it.
int LockNew(const fs::path& path) {
  const int fd = OpenNoLink(path);
  if (fd < 0) return -1;
  // Where nothing can be locked, nothing is removed either.
  const bool taken = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!taken && IsThere(path, fd)) return fd;
  ::close(fd);
  return -1;
}

void RemoveIfKilled(const fs::path& path) {
  const int fd = OpenNoLink(path);
  if (fd < 0) return;
  struct stat opened = {};
  const bool own = ::fstat(fd, &opened) == 0 && opened.st_uid == ::geteuid();
  if (own && ::flock(fd, LOCK_EX | LOCK_NB) == 0 && IsThere(path, fd)) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  ::close(fd);
}

void RemoveFoldersOfKilledRuns(const fs::path& parent) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(parent, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kRunFolderPrefix))
      found.push_back(entry->path());
  }
  for (const fs::path& path : found) RemoveIfKilled(path);
}

}  // namespace

fs::path TemporaryParent() {
  const char* const named = std::getenv("TMPDIR");
  return named == nullptr || *named == '\0' ? "/tmp" : named;
}

StatusOr<std::unique_ptr<RunFolder>> RunFolder::Make(const fs::path& parent) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    std::string path = (parent / kRunFolderPrefix).string() + "XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return ErrnoStatus(errno, "cannot make a folder in", parent.string());
    }
    const int fd = LockNew(path);
    if (fd < 0) continue;
    RemoveFoldersOfKilledRuns(parent);  // but for those that are locked, as this one is
    return std::unique_ptr<RunFolder>(new RunFolder(std::move(path), fd));
  }
  return Unavailable("{}: other runs removed each of {} new folders; start again", parent.string(),
                     kMostTries);
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  ::close(lock_fd_);
}

}  // namespace halograph
