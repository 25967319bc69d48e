#include "partitioner/write/bucket_store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "common/base/units.h"
#include "common/storage/file.h"

namespace halograph {
namespace {

class MemoryBuckets : public BucketStore {
 public:
  size_t Add(size_t count) override {
    buckets_.resize(buckets_.size() + count);
    return buckets_.size() - count;
  }
  Status Append(size_t bucket, std::span<const std::byte> bytes) override {
    Piece piece{std::make_unique_for_overwrite<std::byte[]>(bytes.size()), bytes.size()};
    std::memcpy(piece.data.get(), bytes.data(), bytes.size());
    buckets_[bucket].push_back(std::move(piece));
    return OkStatus();
  }
  Status Read(size_t bucket, const VisitBytes& visit) override {
    for (const Piece& piece : buckets_[bucket]) {
      HG_RETURN_IF_ERROR(visit({piece.data.get(), piece.bytes}));
    }
    return OkStatus();
  }
  void ReadAhead(size_t) override {}
  void Drop(size_t bucket) override { std::vector<Piece>().swap(buckets_[bucket]); }

 private:
  struct Piece {
    std::unique_ptr<std::byte[]> data;
    size_t bytes = 0;
  };
  std::vector<std::vector<Piece>> buckets_;
};

class FileBuckets : public BucketStore {
 public:
  FileBuckets(int fd, std::filesystem::path path) : fd_(fd), path_(std::move(path)) {}
  ~FileBuckets() override {
    ::close(fd_);
    std::error_code ignored;  // what stays is in a folder plainly named temporary
    std::filesystem::remove(path_, ignored);
  }
  FileBuckets(const FileBuckets&) = delete;
  FileBuckets& operator=(const FileBuckets&) = delete;

  size_t Add(size_t count) override {
    buckets_.resize(buckets_.size() + count);
    return buckets_.size() - count;
  }

  Status Append(size_t bucket, std::span<const std::byte> bytes) override {
    HG_RETURN_IF_ERROR(WriteAt(end_, bytes));
    buckets_[bucket].push_back({end_, static_cast<int64_t>(bytes.size())});
    end_ += static_cast<int64_t>(bytes.size());
    if (end_ - started_ >= kStartBytes) {
      // Only a start, so that pages do not pile up until every writer is held back.
      static_cast<void>(::sync_file_range(fd_, started_, end_ - started_, SYNC_FILE_RANGE_WRITE));
      started_ = end_;
    }
    return OkStatus();
  }

  Status Read(size_t bucket, const VisitBytes& visit) override {
    for (const Extent& extent : buckets_[bucket]) {
      piece_.resize(std::max(piece_.size(), static_cast<size_t>(extent.bytes)));
      const std::span<std::byte> piece(piece_.data(), static_cast<size_t>(extent.bytes));
      HG_RETURN_IF_ERROR(ReadAt(extent.offset, piece));
      HG_RETURN_IF_ERROR(visit(piece));
    }
    return OkStatus();
  }

  void ReadAhead(size_t bucket) override {
    for (const Extent& extent : buckets_[bucket]) {
      static_cast<void>(::posix_fadvise(fd_, extent.offset, extent.bytes, POSIX_FADV_WILLNEED));
    }
  }

  void Drop(size_t bucket) override {
    // Where the file system cannot make holes the space is free at the end.
    for (const Extent& extent : buckets_[bucket]) {
      static_cast<void>(::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, extent.offset,
                                    extent.bytes));
    }
    std::vector<Extent>().swap(buckets_[bucket]);
  }

 private:
  static constexpr int64_t kStartBytes = int64_t{32} << 20;
  struct Extent {
    int64_t offset = 0;
    int64_t bytes = 0;
  };

  [[nodiscard]] Status WriteAt(int64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), offset);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
        return ResourceExhausted(
            "{}: no room for edges on their way to the partitions ({} there, {}); free disk space, "
            "write elsewhere, or give more --memory",
            path_.string(), FormatBytes(offset), std::strerror(errno));
      }
      if (written < 0) return ErrnoStatus(errno, "cannot write", path_.string());
      bytes = bytes.subspan(static_cast<size_t>(written));
      offset += written;
    }
    return OkStatus();
  }

  [[nodiscard]] Status ReadAt(int64_t offset, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t got = ::pread(fd_, bytes.data(), bytes.size(), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus(errno, "cannot read", path_.string());
      if (got == 0) return DataLoss("{}: ends before byte {}", path_.string(), offset);
      bytes = bytes.subspan(static_cast<size_t>(got));
      offset += got;
    }
    return OkStatus();
  }

  const int fd_;
  const std::filesystem::path path_;
  int64_t end_ = 0;
  int64_t started_ = 0;  // what lies before was given to the disk
  std::vector<std::vector<Extent>> buckets_;
  std::vector<std::byte> piece_;
};

}  // namespace

std::unique_ptr<BucketStore> MakeMemoryBuckets() { return std::make_unique<MemoryBuckets>(); }

StatusOr<std::unique_ptr<BucketStore>> MakeFileBuckets(const std::filesystem::path& path) {
  HG_RETURN_IF_ERROR(MakeFolder(path.parent_path()));
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoStatus(errno, "cannot create", path.string());
  return std::unique_ptr<BucketStore>(std::make_unique<FileBuckets>(fd, path));
}

}  // namespace halograph
