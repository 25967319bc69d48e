#include "client/topology_copy/fetch_folder.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/checksum.h"
#include "common/base/units.h"
#include "common/storage/disk_space.h"
#include "common/storage/file.h"
#include "common/storage/file_checksums.h"

namespace halograph {

namespace {

namespace fs = std::filesystem;

// A file descriptor that is closed again.
class OpenFile {
 public:
  OpenFile(const fs::path& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  const int fd_;
};

// Bytes of `entry` that the disk has not given to the file yet.
int64_t BytesToTake(const fs::path& path, const FileEntry& entry) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return entry.bytes;
  return std::max<int64_t>(0, entry.bytes - int64_t{info.st_blocks} * 512);
}

// Gives the file its size, with the disk space where the file system can promise it.
Status Reserve(const fs::path& path, int64_t bytes) {
  const OpenFile file(path, O_RDWR | O_CREAT);
  if (file.fd() < 0) return ErrnoStatus(errno, "cannot create", path.string());
  if (bytes > 0) {
    int error = 0;
    do {
      error = fallocate(file.fd(), 0, 0, bytes) == 0 ? 0 : errno;
    } while (error == EINTR);
    if (error != 0 && error != EOPNOTSUPP && error != ENOSYS) {
      return ErrnoStatus(error, fmt::format("cannot take {} for", FormatBytes(bytes)),
                         path.string());
    }
  }
  if (ftruncate(file.fd(), bytes) != 0) {
    return ErrnoStatus(errno, fmt::format("cannot take {} for", FormatBytes(bytes)), path.string());
  }
  return OkStatus();
}

// 0, or errno.
int WriteAll(int fd, std::span<const std::byte> bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
  return 0;
}

// Whether nothing was ever written to this range, as far as the file system tells: so that what is
// only reserved is not read.
bool IsHole(const fs::path& path, int64_t offset, int64_t bytes) {
  const OpenFile file(path, O_RDONLY);
  const off_t data = lseek(file.fd(), offset, SEEK_DATA);
  return data < 0 ? errno == ENXIO : data >= offset + bytes;
}

Status SyncOne(const fs::path& path) {
  const OpenFile file(path, O_RDONLY);
  if (file.fd() < 0) return ErrnoStatus(errno, "cannot open", path.string());
  if (fsync(file.fd()) != 0) return ErrnoStatus(errno, "cannot sync", path.string());
  return OkStatus();
}

}  // namespace

StatusOr<TopologyFetchFolder> TopologyFetchFolder::Open(const fs::path& path) {
  HG_RETURN_IF_ERROR(MakeFolder(path));
  return TopologyFetchFolder(path);
}

fs::path TopologyFetchFolder::FilePath(int part, const FileEntry& entry) const {
  return path_ / PartFolderName(part) / entry.path;
}

Status TopologyFetchFolder::AddManifest(std::string_view bytes, const std::string& identity) {
  const auto part = static_cast<int>(manifests_.size());
  const fs::path folder = path_ / PartFolderName(part);
  HG_RETURN_IF_ERROR(MakeFolder(folder));
  HG_RETURN_IF_ERROR(WriteFileAtomically(folder / "manifest.json", bytes));
  HG_ASSIGN_OR_RETURN(PartManifest manifest, ReadPartManifest(folder));
  if (manifest.part != part || manifest.identity != identity) {
    return FailedPrecondition(
        "the server sent the manifest of part {} of graph {}, expected part {} of {}",
        manifest.part, manifest.identity, part, identity);
  }
  digests_.push_back(FilesDigest(manifest.files));
  std::erase_if(manifest.files, [](const FileEntry& file) { return !IsTopologyFile(file.path); });
  for (const FileEntry& file : manifest.files) {
    if (file.bytes > std::numeric_limits<int64_t>::max() - total_bytes_) {
      return DataLoss("the manifests' files have more than 2^63 bytes");
    }
    total_bytes_ += file.bytes;
  }
  manifests_.push_back(std::move(manifest));
  return OkStatus();
}

Status TopologyFetchFolder::Allocate(const std::string& identity) {
  const PartManifest& first = manifests_.front();
  const std::string found = GraphIdentity(first.schema, first.book, digests_);
  if (found != identity) {
    return FailedPrecondition(
        "the servers' manifests together make graph {}, but the servers say they serve {}", found,
        identity);
  }
  int64_t bytes = 0;
  for (const PartManifest& manifest : manifests_) {
    for (const FileEntry& entry : manifest.files) {
      bytes += BytesToTake(FilePath(manifest.part, entry), entry);
    }
  }
  HG_RETURN_IF_ERROR(CheckDiskSpace(path_, bytes));
  std::vector<fs::path> made;
  Status status = TakeSpace(&made);
  // What has come before stays; what was taken just now and holds nothing does not.
  std::error_code ignored;
  if (!status.ok()) {
    for (const fs::path& path : made) fs::remove(path, ignored);
  }
  return status;
}

Status TopologyFetchFolder::TakeSpace(std::vector<fs::path>* made) const {
  for (const PartManifest& manifest : manifests_) {
    for (const FileEntry& entry : manifest.files) {
      const fs::path path = FilePath(manifest.part, entry);
      HG_RETURN_IF_ERROR(MakeFolder(path.parent_path()));
      std::error_code error;
      if (!fs::exists(path, error)) made->push_back(path);
      HG_RETURN_IF_ERROR(Reserve(path, entry.bytes));
    }
  }
  return OkStatus();
}

StatusOr<std::vector<TopologyChunk>> TopologyFetchFolder::Missing(
    const std::function<void(const std::string&)>& note) const {
  std::vector<TopologyChunk> missing;
  for (const PartManifest& manifest : manifests_) {
    for (size_t f = 0; f < manifest.files.size(); ++f) {
      const FileEntry& entry = manifest.files[f];
      note(entry.path);
      for (int64_t offset = 0; offset < entry.bytes; offset += kChecksumChunkBytes) {
        const TopologyChunk chunk{.part = manifest.part,
                                  .file = f,
                                  .offset = offset,
                                  .bytes = std::min(kChecksumChunkBytes, entry.bytes - offset)};
        bool fits = false;
        if (!IsHole(FilePath(chunk.part, entry), offset, chunk.bytes)) {
          HG_ASSIGN_OR_RETURN(fits, Fits(chunk));
        }
        if (!fits) missing.push_back(chunk);
      }
    }
  }
  return missing;
}

Status TopologyFetchFolder::Write(const TopologyChunk& chunk, int64_t offset,
                                  std::span<const std::span<const std::byte>> pieces) const {
  const fs::path path = FilePath(chunk.part, entry(chunk));
  const OpenFile file(path, O_WRONLY);
  if (file.fd() < 0) return ErrnoStatus(errno, "cannot open", path.string());
  for (const std::span<const std::byte> piece : pieces) {
    if (const int error = WriteAll(file.fd(), piece, offset); error != 0) {
      return ErrnoStatus(error,
                         fmt::format("make room on the disk and start again, what has arrived is "
                                     "kept in {}; cannot write {} "
                                     "bytes at offset {} of",
                                     path_.string(), piece.size(), offset),
                         path.string());
    }
    offset += static_cast<int64_t>(piece.size());
  }
  return OkStatus();
}

StatusOr<bool> TopologyFetchFolder::Fits(const TopologyChunk& chunk) const {
  const FileEntry& listed = entry(chunk);
  HG_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(FilePath(chunk.part, listed)));
  const auto offset = static_cast<size_t>(chunk.offset);
  const auto bytes = static_cast<size_t>(chunk.bytes);
  if (file.bytes().size() < offset + bytes) {
    return DataLoss("{}: another process made the file shorter while it was fetched",
                    file.path().string());
  }
  const std::string found = Hex64(Checksum64(file.bytes().subspan(offset, bytes)));
  file.Release(offset, bytes);
  return found == listed.checksums[offset / static_cast<size_t>(kChecksumChunkBytes)];
}

Status TopologyFetchFolder::Commit(const fs::path& target,
                                   const std::function<void(const std::string&)>& note) const {
  std::error_code error;
  for (fs::recursive_directory_iterator it(path_, error), end; it != end && !error;
       it.increment(error)) {
    note(it->path().string());
    HG_RETURN_IF_ERROR(SyncOne(it->path()));
  }
  if (error) return ErrnoStatus(error.value(), "cannot list", path_.string());
  HG_RETURN_IF_ERROR(SyncOne(path_));
  fs::rename(path_, target, error);
  if (error) return ErrnoStatus(error.value(), "cannot rename to", target.string());
  return SyncOne(target.parent_path());
}

}  // namespace halograph
