#include "common/storage/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mutex.h"
#include "common/storage/disk_space.h"

namespace halograph {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr std::string_view kTemporaryMark = ".tmp-";

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool ok() const { return fd_ >= 0; }
  // The caller closes it.
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Status NotRegular(const fs::path& path, mode_t mode) {
  const std::string_view kind = S_ISDIR(mode)    ? "a folder"
                                : S_ISFIFO(mode) ? "a pipe"
                                : S_ISSOCK(mode) ? "a socket"
                                                 : "a device";
  return FailedPrecondition("{}: not a regular file but {}; put a file there", path.string(), kind);
}

// Writes all of `bytes`, at `offset` or (-1) where the file stands.
Status WriteAll(int fd, std::string_view bytes, int64_t offset, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = offset < 0 ? ::write(fd, bytes.data(), bytes.size())
                                       : ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      const Status status = Annotate(ErrnoStatus(error, "cannot write", path.string()),
                                     fmt::format("{} bytes not written", bytes.size()));
      if (!MeansNoRoom(error)) return status;
      return ResourceExhausted("{}; {}", Message(status), kFreeDiskSpace);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
    if (offset >= 0) offset += written;
  }
  return OkStatus();
}

Status SyncFolder(const fs::path& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok()) return ErrnoStatus(errno, "cannot open folder", path.string());
  // File systems that cannot sync folders say EINVAL; there is nothing more to do on them.
  if (::fsync(folder.get()) != 0 && errno != EINVAL) {
    return ErrnoStatus(errno, "cannot sync folder", path.string());
  }
  return OkStatus();
}

// `path` and every folder below it.
Status SyncFolders(const fs::path& path) {
  std::error_code error;
  fs::recursive_directory_iterator entry(path, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_directory(error)) HG_RETURN_IF_ERROR(SyncFolder(entry->path()));
  }
  if (error) return ErrnoStatus(error.value(), "cannot list", path.string());
  return SyncFolder(path);
}

fs::path ParentOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// "<path><mark><pid>-<n>", another n each time.
fs::path UniqueSibling(const fs::path& path, std::string_view mark) {
  static std::atomic<int64_t> next{0};
  fs::path sibling = path;
  sibling += fmt::format("{}{}-{}", mark, ::getpid(), next.fetch_add(1));
  return sibling;
}

// True for the name of a temporary folder of `target_name` whose process no longer runs.
bool IsLeftOver(std::string_view name, std::string_view target_name) {
  if (!name.starts_with(target_name)) return false;
  name.remove_prefix(target_name.size());
  if (!name.starts_with(kTemporaryMark)) return false;
  name.remove_prefix(kTemporaryMark.size());
  const char* const end = name.data() + name.size();
  pid_t pid = 0;
  const auto pid_read = std::from_chars(name.data(), end, pid);
  if (pid_read.ec != std::errc() || pid <= 0 || pid_read.ptr == end || *pid_read.ptr != '-') {
    return false;
  }
  int64_t number = 0;
  const auto number_read = std::from_chars(pid_read.ptr + 1, end, number);
  if (number_read.ec != std::errc() || number_read.ptr != end) return false;
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

void RemoveLeftOvers(const fs::path& target) {
  const std::string name = target.filename().string();
  std::error_code error;
  fs::directory_iterator entry(ParentOf(target), error);
  std::vector<fs::path> found;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (IsLeftOver(entry->path().filename().string(), name)) found.push_back(entry->path());
  }
  // One that cannot be removed is in nobody's way.
  for (const fs::path& path : found) fs::remove_all(path, error);
}

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type() != fs::file_type::not_found;
}

Status TargetExists(const fs::path& target) {
  return AlreadyExists("{}: exists; choose another output or remove it first", target.string());
}

// rename() with flags; where the file system knows none (EINVAL), `*supported` becomes false.
Status RenameWith(unsigned flags, const fs::path& from, const fs::path& to, bool* supported) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0) return OkStatus();
  *supported = errno != EINVAL && errno != ENOSYS;
  if (errno == EEXIST) return TargetExists(to);
  return ErrnoStatus(errno, fmt::format("cannot rename {} to", from.string()), to.string());
}

Status Rename(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return OkStatus();
  return ErrnoStatus(errno, fmt::format("cannot rename {} to", from.string()), to.string());
}

// Moves `from` to the name `to`, which must be free.
Status MoveToFreeName(const fs::path& from, const fs::path& to) {
  bool supported = true;
  const Status moved = RenameWith(RENAME_NOREPLACE, from, to, &supported);
  if (supported) return moved;
  if (Exists(to)) return TargetExists(to);
  return Rename(from, to);
}

// Puts `from` in the place of `to`; `*old` becomes the path where the former `to` is now.
Status ChangePlaces(const fs::path& from, const fs::path& to, fs::path* old) {
  *old = from;
  bool supported = true;
  const Status exchanged = RenameWith(RENAME_EXCHANGE, from, to, &supported);
  if (supported) return exchanged;
  *old = UniqueSibling(to, ".old-");
  HG_RETURN_IF_ERROR(Rename(to, *old));
  return Rename(from, to);
}

}  // namespace

// ---- opening ---------------------------------------------------------------------------------

StatusOr<int> OpenToRead(const fs::path& path) {
  struct stat info {};
  // Looked at before it is opened, since opening a device can do something. O_NONBLOCK and the
  // second look: it may be replaced in between.
  const bool found = ::stat(path.c_str(), &info) == 0;
  if (found && !S_ISREG(info.st_mode)) return NotRegular(path, info.st_mode);
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.ok()) return ErrnoStatus(errno, "cannot open", path.string());
  if (::fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "cannot stat", path.string());
  if (!S_ISREG(info.st_mode)) return NotRegular(path, info.st_mode);
  return file.Release();
}

// ---- MappedFile ------------------------------------------------------------------------------

StatusOr<MappedFile> MappedFile::Open(const fs::path& path) {
  HG_ASSIGN_OR_RETURN(const int descriptor, OpenToRead(path));
  const Descriptor file(descriptor);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "cannot stat", path.string());

  MappedFile mapped;
  mapped.path_ = path;
  mapped.size_ = static_cast<size_t>(info.st_size);
  if (mapped.size_ == 0) return mapped;
  void* data = ::mmap(nullptr, mapped.size_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) {
    mapped.size_ = 0;
    return ErrnoStatus(errno, "cannot map", path.string());
  }
  mapped.data_ = static_cast<const std::byte*>(data);
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void MappedFile::Advise(Access access) const {
  if (data_ == nullptr) return;
  const int advice = access == Access::kSequential ? MADV_SEQUENTIAL
                     : access == Access::kRandom   ? MADV_RANDOM
                                                   : MADV_NORMAL;
  ::madvise(const_cast<std::byte*>(data_), size_, advice);
}

std::optional<int64_t> MappedFile::ResidentBytes(const CancelToken& ending) const {
  constexpr size_t kPieceBytes = size_t{64} << 20;
  if (size_ == 0) return 0;
  // To others mincore says that every page is in RAM.
  struct stat info {};
  const bool told = ::eaccess(path_.c_str(), W_OK) == 0 ||
                    (::stat(path_.c_str(), &info) == 0 && info.st_uid == ::geteuid());
  if (!told) return std::nullopt;
  const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(kPieceBytes / page_bytes);
  int64_t resident = 0;
  for (size_t begin = 0; begin < size_; begin += kPieceBytes) {
    if (ending.cancelled()) return std::nullopt;
    const size_t bytes = std::min(kPieceBytes, size_ - begin);
    if (::mincore(const_cast<std::byte*>(data_) + begin, bytes, pages.data()) != 0) {
      return std::nullopt;
    }
    const auto end = pages.begin() + static_cast<ptrdiff_t>((bytes - 1) / page_bytes + 1);
    const auto here =
        std::count_if(pages.begin(), end, [](unsigned char page) { return (page & 1U) != 0; });
    resident += here * static_cast<int64_t>(page_bytes);
  }
  return std::min(resident, static_cast<int64_t>(size_));  // the last page may have an end beyond
}

void MappedFile::Release(size_t offset, size_t length) const {
  if (data_ == nullptr || offset >= size_) return;
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  // The mapping is shared and read-only: a page let go that is needed after all is read again.
  const size_t begin = offset / page * page;
  const size_t end = offset + std::min(length, size_ - offset);
  ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

// ---- FileWriter ------------------------------------------------------------------------------

StatusOr<FileWriter> FileWriter::Create(const fs::path& path) {
  FileWriter writer;
  writer.path_ = path;
  writer.fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (writer.fd_ < 0) return ErrnoStatus(errno, "cannot create", path.string());
  return writer;
}

FileWriter::~FileWriter() {
  if (fd_ >= 0) ::close(fd_);
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      written_(std::exchange(other.written_, 0)),
      buffer_(std::move(other.buffer_)) {}

FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(written_, other.written_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

Status FileWriter::Append(std::span<const std::byte> bytes) {
  return Append(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Status FileWriter::Append(std::string_view text) {
  if (fd_ < 0) return FailedPrecondition("{}: not open for writing", path_.string());
  if (buffer_.size() + text.size() > kBufferBytes) HG_RETURN_IF_ERROR(Flush());
  if (text.size() >= kBufferBytes) {
    HG_RETURN_IF_ERROR(WriteAll(fd_, text, -1, path_));
  } else {
    buffer_.reserve(kBufferBytes);
    buffer_.append(text);
  }
  written_ += static_cast<int64_t>(text.size());
  return OkStatus();
}

Status FileWriter::AppendZeros(int64_t bytes) {
  if (fd_ < 0) return FailedPrecondition("{}: not open for writing", path_.string());
  if (bytes == 0) return OkStatus();
  HG_RETURN_IF_ERROR(Flush());
  const int64_t end = written_ + bytes;
  HG_RETURN_IF_ERROR(ClaimDiskSpace(fd_, static_cast<size_t>(end), "the file", path_));
  if (::lseek(fd_, end, SEEK_SET) < 0) return ErrnoStatus(errno, "cannot seek in", path_.string());
  written_ = end;
  return OkStatus();
}

Status FileWriter::Overwrite(int64_t offset, std::string_view bytes) {
  if (fd_ < 0) return FailedPrecondition("{}: not open for writing", path_.string());
  const auto size = static_cast<int64_t>(bytes.size());
  if (offset < 0 || size > written_ || offset > written_ - size) {
    return OutOfRange("{}: cannot write {} bytes over position {}, only {} are there",
                      path_.string(), size, offset, written_);
  }
  HG_RETURN_IF_ERROR(Flush());
  return WriteAll(fd_, bytes, offset, path_);
}

Status FileWriter::Flush() {
  HG_RETURN_IF_ERROR(WriteAll(fd_, buffer_, -1, path_));
  buffer_.clear();
  return OkStatus();
}

Status FileWriter::Close() {
  if (fd_ < 0) return FailedPrecondition("{}: not open for writing", path_.string());
  Status status = Flush();
  if (status.ok() && ::fsync(fd_) != 0) status = ErrnoStatus(errno, "cannot sync", path_.string());
  if (::close(std::exchange(fd_, -1)) != 0 && status.ok()) {
    status = ErrnoStatus(errno, "cannot close", path_.string());
  }
  buffer_ = std::string();
  return status;
}

// ---- TemporaryFolder -------------------------------------------------------------------------

namespace {

// The temporary folders of this process, each with its target. Whoever makes, renames or removes
// one holds the mutex meanwhile, so that EndWithoutTemporaryFolders finds none halfway.
struct TemporaryFolders {
  Mutex mutex;
  std::map<fs::path, fs::path> targets HG_GUARDED_BY(mutex);
};

TemporaryFolders& Temporary() {
  static auto* const folders = new TemporaryFolders;  // as long as the process: threads may use it
  return *folders;
}

// Removes a folder that others are writing into. It gets another name first, and a file takes its
// place, so that what they create now fails instead of filling what is being removed.
void RemoveInUse(const fs::path& path, const fs::path& target) {
  std::error_code error;
  const fs::path moved = UniqueSibling(target, kTemporaryMark);
  fs::rename(path, moved, error);
  if (error) {  // it lay in a folder that is gone already, or cannot be renamed
    fs::remove_all(path, error);
    return;
  }
  const Descriptor in_its_place(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  fs::remove_all(moved, error);
  fs::remove(path, error);
}

}  // namespace

void EndWithoutTemporaryFolders(const std::function<void()>& end) {
  TemporaryFolders& folders = Temporary();
  const MutexLock lock(folders.mutex);
  for (const auto& [path, target] : folders.targets) RemoveInUse(path, target);
  end();
  std::abort();
}

fs::path TemporarySibling(const fs::path& target) {
  RemoveLeftOvers(target);
  return UniqueSibling(target, kTemporaryMark);
}

StatusOr<TemporaryFolder> TemporaryFolder::Create(const fs::path& target, bool replace) {
  TemporaryFolder folder;
  folder.replace_ = replace;
  folder.target_ = target.lexically_normal();
  if (!folder.target_.has_filename()) folder.target_ = folder.target_.parent_path();
  const fs::path name = folder.target_.filename();
  if (name.empty() || name == "." || name == "..") {
    return InvalidArgument("'{}' names no folder that can be written", target.string());
  }
  const fs::path parent = ParentOf(folder.target_);
  std::error_code error;
  if (!fs::is_directory(parent, error)) {
    return FailedPrecondition("{}: no such folder; create it first to write {} there",
                              parent.string(), name.string());
  }
  if (!replace && Exists(folder.target_)) return TargetExists(folder.target_);
  RemoveLeftOvers(folder.target_);
  const MutexLock lock(Temporary().mutex);
  while (true) {
    const fs::path path = UniqueSibling(folder.target_, kTemporaryMark);
    if (::mkdir(path.c_str(), 0777) == 0) {
      Temporary().targets.emplace(path, folder.target_);
      folder.path_ = path;
      return folder;
    }
    if (errno != EEXIST) return ErrnoStatus(errno, "cannot create folder", path.string());
  }
}

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  const MutexLock lock(Temporary().mutex);
  std::error_code error;
  fs::remove_all(path_, error);
  Temporary().targets.erase(path_);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, fs::path())),
      target_(std::move(other.target_)),
      replace_(other.replace_) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(target_, other.target_);
  std::swap(replace_, other.replace_);
  return *this;
}

Status TemporaryFolder::Commit() {
  if (path_.empty()) return FailedPrecondition("{}: committed already", target_.string());
  HG_RETURN_IF_ERROR(SyncFolders(path_));
  fs::path old;
  {
    const MutexLock lock(Temporary().mutex);
    if (replace_ && Exists(target_)) {
      HG_RETURN_IF_ERROR(ChangePlaces(path_, target_, &old));
    } else {
      HG_RETURN_IF_ERROR(MoveToFreeName(path_, target_));
    }
    Temporary().targets.erase(path_);
  }
  path_.clear();
  HG_RETURN_IF_ERROR(SyncFolder(ParentOf(target_)));
  std::error_code error;
  if (!old.empty()) fs::remove_all(old, error);
  if (error) return ErrnoStatus(error.value(), "written, but cannot remove the old", old.string());
  return OkStatus();
}

// ---- whole files -----------------------------------------------------------------------------

Status MakeFolder(const fs::path& path) {
  // Halfway, it would make anew what EndWithoutTemporaryFolders has removed.
  const MutexLock lock(Temporary().mutex);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return ErrnoStatus(error.value(), "cannot create folder", path.string());
  return OkStatus();
}

StatusOr<std::string> ReadTextFile(const fs::path& path, int64_t limit) {
  HG_ASSIGN_OR_RETURN(const int descriptor, OpenToRead(path));
  const Descriptor file(descriptor);
  std::string text;
  std::string buffer(size_t{64} << 10, '\0');
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "cannot read", path.string());
    if (got == 0) return text;
    if (static_cast<int64_t>(text.size()) + got > limit) {
      return OutOfRange("{}: has more than the {} bytes that may be read at once", path.string(),
                        limit);
    }
    text.append(buffer.data(), static_cast<size_t>(got));
  }
}

Status WriteFileAtomically(const fs::path& path, std::string_view text) {
  fs::path temporary = UniqueSibling(path, kTemporaryMark);
  StatusOr<FileWriter> created = FileWriter::Create(temporary);
  // The name may be taken: by what a dead process with our number left behind.
  while (created.status().code() == absl::StatusCode::kAlreadyExists) {
    temporary = UniqueSibling(path, kTemporaryMark);
    created = FileWriter::Create(temporary);
  }
  HG_ASSIGN_OR_RETURN(FileWriter writer, std::move(created));
  Status status = writer.Append(text);
  if (status.ok()) status = writer.Close();
  if (status.ok()) status = Rename(temporary, path);
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return SyncFolder(ParentOf(path));
}

std::string PercentEncode(std::string_view name) {
  std::string encoded;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || (c == '.' && i > 0);
    if (plain) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

}  // namespace halograph
