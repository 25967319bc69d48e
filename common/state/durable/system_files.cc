#include "common/state/durable/system_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/log.h"

namespace halograph {
namespace {

using Path = FileSystem::Path;

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

// -1 and errno if it fails.
int TryOpen(const Path& path, int flags) {
  int fd = -1;
  do {
    fd = open(path.c_str(), flags | O_CLOEXEC, 0644);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

StatusOr<Descriptor> Open(const Path& path, int flags) {
  const int fd = TryOpen(path, flags);
  if (fd < 0) return ErrnoStatus(errno, "cannot open", path.string());
  return Descriptor(fd);
}

// Once a process.
void SayNotDirect(const Path& path) {
  static std::once_flag said;
  std::call_once(said, [&] {
    spdlog::info("{}: its file system takes no direct writes: they go through the page cache",
                 path.string());
  });
}

class SystemReadable : public ReadableFile {
 public:
  SystemReadable(Descriptor fd, Path path) : fd_(std::move(fd)), path_(std::move(path)) {}

  [[nodiscard]] StatusOr<int64_t> Size() const override {
    struct stat status = {};
    if (fstat(fd_.get(), &status) != 0) return ErrnoStatus(errno, "cannot stat", path_.string());
    return static_cast<int64_t>(status.st_size);
  }
  [[nodiscard]] Status ReadAt(int64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t got = pread(fd_.get(), out.data(), out.size(), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus(errno, "cannot read", path_.string());
      if (got == 0) return DataLoss("{}: ends at offset {}", path_.string(), offset);
      out = out.subspan(static_cast<size_t>(got));
      offset += got;
    }
    return OkStatus();
  }

 private:
  Descriptor fd_;
  Path path_;
};

class SystemWritable : public WritableFile {
 public:
  SystemWritable(Descriptor fd, Path path, bool direct)
      : fd_(std::move(fd)), path_(std::move(path)), direct_(direct) {}

  [[nodiscard]] Status WriteAt(int64_t offset,
                               std::span<const std::span<const std::byte>> pieces) override {
    std::array<iovec, 256> parts;
    while (!pieces.empty()) {
      const size_t count = std::min(pieces.size(), parts.size());
      for (size_t i = 0; i < count; ++i) {
        parts[i] = {const_cast<std::byte*>(pieces[i].data()), pieces[i].size()};
      }
      HG_RETURN_IF_ERROR(WriteAll(&offset, std::span(parts).first(count)));
      pieces = pieces.subspan(count);
    }
    return OkStatus();
  }
  [[nodiscard]] Status Sync() override {
    if (fdatasync(fd_.get()) != 0) return ErrnoStatus(errno, "cannot sync", path_.string());
    return OkStatus();
  }

 private:
  Status WriteAll(int64_t* offset, std::span<iovec> parts) {
    while (!parts.empty()) {
      ssize_t written = pwritev(fd_.get(), parts.data(), static_cast<int>(parts.size()), *offset);
      if (written < 0 && (errno == EINTR || (errno == EINVAL && TurnToCached()))) continue;
      if (written < 0) return ErrnoStatus(errno, "cannot write", path_.string());
      *offset += written;
      while (!parts.empty() && static_cast<size_t>(written) >= parts.front().iov_len) {
        written -= static_cast<ssize_t>(parts.front().iov_len);
        parts = parts.subspan(1);
      }
      if (parts.empty()) break;
      parts.front().iov_base = static_cast<char*>(parts.front().iov_base) + written;
      parts.front().iov_len -= static_cast<size_t>(written);
    }
    return OkStatus();
  }

  // Some file systems take O_DIRECT and then refuse the writes. False, with errno as it was: they
  // went through the page cache before.
  bool TurnToCached() {
    const int error = errno;
    const int flags = direct_ ? fcntl(fd_.get(), F_GETFL) : -1;
    if (flags < 0 || fcntl(fd_.get(), F_SETFL, flags & ~O_DIRECT) != 0) {
      errno = error;
      return false;
    }
    direct_ = false;
    SayNotDirect(path_);
    return true;
  }

  Descriptor fd_;
  Path path_;
  bool direct_;
};

class SystemFolderLock : public FolderLock {
 public:
  explicit SystemFolderLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  Descriptor fd_;
};

class SystemFiles : public FileSystem {
 public:
  [[nodiscard]] StatusOr<std::unique_ptr<ReadableFile>> OpenToRead(const Path& path) override {
    HG_ASSIGN_OR_RETURN(Descriptor fd, Open(path, O_RDONLY | O_NONBLOCK));
    return std::make_unique<SystemReadable>(std::move(fd), path);
  }

  [[nodiscard]] StatusOr<std::unique_ptr<WritableFile>> Create(const Path& path, int64_t bytes,
                                                               Write how) override {
    {
      HG_ASSIGN_OR_RETURN(const Descriptor fd, Open(path, O_WRONLY | O_CREAT | O_EXCL));
      // Claimed, not written: zeros on the disk cost as much as the log itself, and what they save
      // at the first use of a file is little.
      const int error = bytes == 0 ? 0 : posix_fallocate(fd.get(), 0, bytes);
      if (error != 0) {
        unlink(path.c_str());
        return ErrnoStatus(error, fmt::format("no space for the {} bytes of", bytes),
                           path.string());
      }
    }
    return OpenToWrite(path, how);
  }

  [[nodiscard]] StatusOr<std::unique_ptr<WritableFile>> OpenToWrite(const Path& path,
                                                                    Write how) override {
    if (how == Write::kDirect) {
      Descriptor fd(TryOpen(path, O_WRONLY | O_DIRECT));
      if (fd.get() >= 0) return std::make_unique<SystemWritable>(std::move(fd), path, true);
      if (errno != EINVAL) return ErrnoStatus(errno, "cannot open", path.string());
      SayNotDirect(path);
    }
    HG_ASSIGN_OR_RETURN(Descriptor fd, Open(path, O_WRONLY));
    return std::make_unique<SystemWritable>(std::move(fd), path, false);
  }

  [[nodiscard]] Status Rename(const Path& from, const Path& to) override {
    if (rename(from.c_str(), to.c_str()) == 0) return OkStatus();
    return ErrnoStatus(errno, "cannot rename to " + to.string() + " the file", from.string());
  }
  [[nodiscard]] Status Remove(const Path& path) override {
    if (unlink(path.c_str()) == 0) return OkStatus();
    return ErrnoStatus(errno, "cannot remove", path.string());
  }
  [[nodiscard]] Status MakeFolder(const Path& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return ErrnoStatus(error.value(), "cannot make the folder", path.string());
    return OkStatus();
  }
  [[nodiscard]] Status SyncFolder(const Path& path) override {
    HG_ASSIGN_OR_RETURN(const Descriptor fd, Open(path, O_RDONLY | O_DIRECTORY));
    if (fsync(fd.get()) != 0) return ErrnoStatus(errno, "cannot sync the folder", path.string());
    return OkStatus();
  }
  [[nodiscard]] StatusOr<std::vector<std::string>> List(const Path& path) override {
    std::error_code error;
    std::vector<std::string> names;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    if (error) return ErrnoStatus(error.value(), "cannot list", path.string());
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] StatusOr<std::unique_ptr<FolderLock>> LockFolder(const Path& path) override {
    HG_ASSIGN_OR_RETURN(Descriptor fd, Open(path / "lock", O_RDWR | O_CREAT));
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return ErrnoStatus(errno, "cannot lock", path.string());
      return FailedPrecondition("{}: another process has this folder, or this one twice",
                                path.string());
    }
    return std::make_unique<SystemFolderLock>(std::move(fd));
  }
};

}  // namespace

std::unique_ptr<FileSystem> MakeSystemFiles() { return std::make_unique<SystemFiles>(); }

}  // namespace halograph
