// A library to preload (LD_PRELOAD) that ends the process as a crash of the machine would: of what
// was written to files below $UNSYNCED_FOLDER since their last sync, a random part is put back to
// what it was, in blocks of 512 bytes or 4 KiB, and files that were made, renamed or removed since
// the last sync of their folder may be as before. Then the process kills itself.
//
// What was appended by write() is cut off from a random byte on: file systems make a file longer
// after its data is there, and RocksDB, which alone appends, counts on that.
//
//   UNSYNCED_FOLDER   absolute
//   UNSYNCED_BACKUP   an empty folder of the same file system, for files that are removed
//   UNSYNCED_AFTER    crash at the so many-th call of write, sync, rename or unlink
//   UNSYNCED_SEED     of what is put back
//
// Syncs themselves are left out: nothing but this library needs them. All calls go one at a time.
#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

template <typename Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

constexpr int64_t kBlock = 512;

std::string FromEnvironment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::string PathOf(int fd) {
  std::array<char, 4096> path;
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), path.data(), path.size());
  return length < 0 ? "" : std::string(path.data(), static_cast<size_t>(length));
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

class Journal {
 public:
  static Journal& Get() {
    static Journal* const journal = new Journal;  // outlives all that is destroyed at the end
    return *journal;
  }

  std::mutex mutex;

  [[nodiscard]] bool Watches(const std::string& path) const {
    return !folder_.empty() && path.compare(0, folder_.size(), folder_) == 0;
  }

  // Keeps what `bytes` from `offset` of the file were, if this is their first change.
  void KeepOld(const std::string& path, int64_t offset, int64_t bytes) {
    File& file = Opened(path);
    for (int64_t block = offset / kBlock; block * kBlock < offset + bytes; ++block) {
      if (file.old.count(block) > 0) continue;
      std::array<char, kBlock>& old = file.old[block];
      old.fill(0);
      static_cast<void>(!pread(file.fd, old.data(), old.size(), block * kBlock));
    }
  }
  // Keeps what a write of `bytes` at `offset` changes, at the end of the file or before it.
  void KeepEnd(const std::string& path, int64_t offset, int64_t bytes) {
    File& file = Opened(path);
    const off_t size = lseek(file.fd, 0, SEEK_END);
    if (offset < size) return KeepOld(path, offset, bytes);
    if (!file.synced_size.has_value()) file.synced_size = size;
  }
  void Synced(const std::string& path) {
    if (const auto file = files_.find(path); file != files_.end()) {
      file->second.old.clear();
      file->second.synced_size.reset();
    }
    // Of a folder: its names count from now on.
    std::erase_if(names_, [&](const Name& name) {
      if (FolderOf(name.path) != path) return false;
      if (!name.backup.empty()) Real<int (*)(const char*)>("unlink")(name.backup.c_str());
      return true;
    });
  }
  void Created(const std::string& path) {
    Forget(path);
    names_.push_back({path, "", ""});
  }
  void Renames(const std::string& from, const std::string& to) {
    if (const auto file = files_.find(from); file != files_.end()) {
      files_[to] = std::move(file->second);
      files_.erase(from);
    }
    names_.push_back({to, from, Backup(to)});
  }
  void Removes(const std::string& path) {
    Forget(path);
    names_.push_back({path, "", Backup(path)});
  }

  // Counts a call; true: the machine crashes at it.
  bool Count() { return !folder_.empty() && ++calls_ == crash_at_; }

  [[noreturn]] void Crash() {
    constexpr double kLost[] = {0.0, 0.1, 0.5, 0.9, 1.0};
    for (auto& [path, file] : files_) {
      const double lost = kLost[random_() % 5];
      const int64_t unit = random_() % 2 == 0 ? 1 : 8;
      std::map<int64_t, bool> goes;
      for (const auto& [block, old] : file.old) {
        const auto [at, is_new] = goes.try_emplace(block / unit, false);
        if (is_new) at->second = std::uniform_real_distribution<double>(0, 1)(random_) < lost;
        if (!at->second) continue;
        static_cast<void>(!Real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(
            file.fd, old.data(), old.size(), block * kBlock));
      }
      if (file.synced_size.has_value()) CutEnd(file, lost);
    }
    // Names go back from the newest on, as in a file system with a journal.
    for (size_t left = random_() % (names_.size() + 1); left > 0; --left) {
      const Name& name = names_.back();
      const auto rename_back = Real<int (*)(const char*, const char*)>("rename");
      if (!name.from.empty()) {
        rename_back(name.path.c_str(), name.from.c_str());
      } else if (name.backup.empty()) {
        Real<int (*)(const char*)>("unlink")(name.path.c_str());
      }
      if (!name.backup.empty()) rename_back(name.backup.c_str(), name.path.c_str());
      names_.pop_back();
    }
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }

 private:
  struct File {
    int fd = -1;
    std::map<int64_t, std::array<char, kBlock>> old;  // by block
    std::optional<off_t> synced_size;                 // if it was appended to since
  };
  struct Name {
    std::string path;
    std::string from;    // "": not renamed
    std::string backup;  // of what was there; "": nothing was
  };

  Journal()
      : folder_(FromEnvironment("UNSYNCED_FOLDER")),
        backup_(FromEnvironment("UNSYNCED_BACKUP")),
        crash_at_(std::atoll(FromEnvironment("UNSYNCED_AFTER").c_str())),
        random_(static_cast<uint64_t>(std::atoll(FromEnvironment("UNSYNCED_SEED").c_str()))) {}

  File& Opened(const std::string& path) {
    File& file = files_[path];
    if (file.fd < 0) file.fd = Real<int (*)(const char*, int, ...)>("open")(path.c_str(), O_RDWR);
    return file;
  }
  void CutEnd(const File& file, double lost) {
    const off_t appended = std::max<off_t>(0, lseek(file.fd, 0, SEEK_END) - *file.synced_size);
    const double left = 1 - lost * std::uniform_real_distribution<double>(0, 1)(random_);
    const off_t kept = lost == 1 ? 0 : static_cast<off_t>(left * static_cast<double>(appended));
    static_cast<void>(!ftruncate(file.fd, *file.synced_size + kept));
  }
  void Forget(const std::string& path) {
    const auto file = files_.find(path);
    if (file == files_.end()) return;
    if (file->second.fd >= 0) close(file->second.fd);
    files_.erase(file);
  }
  std::string Backup(const std::string& path) {
    const std::string backup =
        backup_ + "/" + std::to_string(getpid()) + "-" + std::to_string(next_backup_++);
    return link(path.c_str(), backup.c_str()) == 0 ? backup : "";
  }

  const std::string folder_;
  const std::string backup_;
  const int64_t crash_at_;
  std::mt19937_64 random_;
  int64_t calls_ = 0;
  int64_t next_backup_ = 0;
  std::map<std::string, File> files_;
  std::vector<Name> names_;
};

// A change: noted, then made, unless the machine crashes before.
template <typename Note, typename Change>
auto Changed(const std::string& path, Note note, Change change) -> decltype(change()) {
  Journal& journal = Journal::Get();
  if (!journal.Watches(path)) return change();
  const std::lock_guard<std::mutex> lock(journal.mutex);
  const bool crash = journal.Count();
  note(journal);
  const auto result = change();
  if (crash) journal.Crash();
  return result;
}

int Synced(int fd, const char* name) {
  const std::string path = PathOf(fd);
  Journal& journal = Journal::Get();
  if (!journal.Watches(path)) return Real<int (*)(int)>(name)(fd);
  const std::lock_guard<std::mutex> lock(journal.mutex);
  if (journal.Count()) journal.Crash();
  journal.Synced(path);
  return 0;
}

int Opened(const char* name, const char* path, int flags, mode_t mode) {
  const auto real = Real<int (*)(const char*, int, ...)>(name);
  Journal& journal = Journal::Get();
  if ((flags & O_CREAT) == 0 || !journal.Watches(path)) return real(path, flags, mode);
  const std::lock_guard<std::mutex> lock(journal.mutex);
  const bool is_new = access(path, F_OK) != 0;
  const int fd = real(path, flags, mode);
  if (fd >= 0 && is_new) journal.Created(path);
  return fd;
}

ssize_t WrittenParts(const char* name, int fd, const iovec* parts, int count, off_t offset) {
  const std::string path = PathOf(fd);
  int64_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += static_cast<int64_t>(parts[i].iov_len);
  return Changed(
      path, [&](Journal& journal) { journal.KeepOld(path, offset, bytes); },
      [&] {
        return Real<ssize_t (*)(int, const iovec*, int, off_t)>(name)(fd, parts, count, offset);
      });
}

ssize_t Written(const char* name, int fd, const void* data, size_t bytes, off_t offset) {
  const std::string path = PathOf(fd);
  return Changed(
      path, [&](Journal& journal) { journal.KeepOld(path, offset, static_cast<int64_t>(bytes)); },
      [&] {
        return Real<ssize_t (*)(int, const void*, size_t, off_t)>(name)(fd, data, bytes, offset);
      });
}

mode_t ModeOf(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Opened("open", path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Opened("open64", path, flags, mode);
}
ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return WrittenParts("pwritev", fd, parts, count, offset);
}
ssize_t pwritev64(int fd, const iovec* parts, int count, off64_t offset) {
  return WrittenParts("pwritev64", fd, parts, count, offset);
}
ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  return Written("pwrite", fd, data, bytes, offset);
}
ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t offset) {
  return Written("pwrite64", fd, data, bytes, offset);
}
ssize_t write(int fd, const void* data, size_t bytes) {
  const auto real = Real<ssize_t (*)(int, const void*, size_t)>("write");
  return Changed(
      PathOf(fd),
      [&](Journal& journal) {
        const bool at_end = (fcntl(fd, F_GETFL) & O_APPEND) != 0;
        journal.KeepEnd(PathOf(fd), lseek(fd, 0, at_end ? SEEK_END : SEEK_CUR),
                        static_cast<int64_t>(bytes));
      },
      [&] { return real(fd, data, bytes); });
}
int fsync(int fd) { return Synced(fd, "fsync"); }
int fdatasync(int fd) { return Synced(fd, "fdatasync"); }
int rename(const char* from, const char* to) noexcept {
  return Changed(
      to, [&](Journal& journal) { journal.Renames(from, to); },
      [&] { return Real<int (*)(const char*, const char*)>("rename")(from, to); });
}
int unlink(const char* path) noexcept {
  return Changed(
      path, [&](Journal& journal) { journal.Removes(path); },
      [&] { return Real<int (*)(const char*)>("unlink")(path); });
}
}
