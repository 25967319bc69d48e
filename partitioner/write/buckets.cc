#include "partitioner/write/buckets.h"

#include <bit>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <spdlog/spdlog.h>

#include "partitioner/write/raw_file.h"

namespace halograph {

namespace {

constexpr int kTableBits = 14;

}  // namespace

BucketRanges::BucketRanges(const std::vector<int64_t>& boundaries, int64_t width) {
  for (size_t part = 0; part + 1 < boundaries.size(); ++part) {
    first_.push_back(size());
    for (int64_t id = boundaries[part]; id < boundaries[part + 1]; id += width) {
      starts_.push_back(std::min(id + width, boundaries[part + 1]));
    }
  }
  first_.push_back(size());
  const int64_t ids = boundaries.back();
  shift_ = std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(ids))) - kTableBits);
  size_t bucket = 0;
  for (int64_t id = 0; id < ids; id += int64_t{1} << shift_) {
    while (starts_[bucket + 1] <= id) ++bucket;
    of_block_.push_back(static_cast<uint32_t>(bucket));
  }
  of_block_.push_back(static_cast<uint32_t>(size() - (size() > 0 ? 1 : 0)));
}

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
  explicit FileBuckets(RawFile file) : file_(std::move(file)) {}
  ~FileBuckets() override {
    // Said, since a disk that discards what is freed can take minutes for it.
    spdlog::info("removing the temporary file of edges, {}", file_.path().string());
    static_cast<void>(file_.Close());  // first: a network's file system keeps open files
    std::error_code ignored;           // what stays is in a folder plainly named temporary
    std::filesystem::remove(file_.path(), ignored);
  }
  FileBuckets(const FileBuckets&) = delete;
  FileBuckets& operator=(const FileBuckets&) = delete;

  size_t Add(size_t count) override {
    buckets_.resize(buckets_.size() + count);
    return buckets_.size() - count;
  }

  Status Append(size_t bucket, std::span<const std::byte> bytes) override {
    HG_RETURN_IF_ERROR(file_.WriteAt(end_, bytes, kAdvice));
    buckets_[bucket].push_back({end_, static_cast<int64_t>(bytes.size())});
    end_ += static_cast<int64_t>(bytes.size());
    if (end_ - started_ >= kStartBytes) {
      // So that pages do not pile up until every writer is held back.
      file_.StartWriting(started_, end_ - started_);
      started_ = end_;
    }
    return OkStatus();
  }

  Status Read(size_t bucket, const VisitBytes& visit) override {
    for (const Extent& extent : buckets_[bucket]) {
      piece_.resize(std::max(piece_.size(), static_cast<size_t>(extent.bytes)));
      const std::span<std::byte> piece(piece_.data(), static_cast<size_t>(extent.bytes));
      HG_RETURN_IF_ERROR(file_.ReadAt(extent.offset, piece));
      HG_RETURN_IF_ERROR(visit(piece));
    }
    return OkStatus();
  }

  void ReadAhead(size_t bucket) override {
    for (const Extent& extent : buckets_[bucket]) {
      static_cast<void>(
          ::posix_fadvise(file_.fd(), extent.offset, extent.bytes, POSIX_FADV_WILLNEED));
    }
  }

  void Drop(size_t bucket) override {
    // Where the file system cannot make holes the space is free at the end.
    for (const Extent& extent : buckets_[bucket]) {
      static_cast<void>(::fallocate(file_.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                    extent.offset, extent.bytes));
    }
    std::vector<Extent>().swap(buckets_[bucket]);
  }

 private:
  static constexpr int64_t kStartBytes = int64_t{32} << 20;
  static constexpr std::string_view kAdvice =
      "this file holds edges until they are sorted: free disk space, write to another disk, or "
      "give more --memory";
  struct Extent {
    int64_t offset = 0;
    int64_t bytes = 0;
  };

  RawFile file_;
  int64_t end_ = 0;
  int64_t started_ = 0;  // what lies before was given to the disk
  std::vector<std::vector<Extent>> buckets_;
  std::vector<std::byte> piece_;
};

}  // namespace

std::unique_ptr<BucketStore> MakeMemoryBuckets() { return std::make_unique<MemoryBuckets>(); }

StatusOr<std::unique_ptr<BucketStore>> MakeFileBuckets(const std::filesystem::path& path) {
  HG_ASSIGN_OR_RETURN(RawFile file, RawFile::Create(path));
  return std::unique_ptr<BucketStore>(std::make_unique<FileBuckets>(std::move(file)));
}

}  // namespace halograph
