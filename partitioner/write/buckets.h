// Buckets of edges on their way from the stream to the rows of their nodes: the record of an
// edge, the ranges of nodes that buckets cover, where buckets wait, and the writer that fills
// them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition_book.h"

namespace halograph {

// An edge in its bucket: 12 bytes if source ids fit 32 bits. The bucket knows which node row 0 is,
// and the upper 32 bits of ids. SourceT: the type of indices.npy, uint32_t or int64_t.
template <typename SourceT>
struct EdgeRecord {
  SourceT source;  // global id
  uint32_t row;    // destination, counted from the bucket's first node
  uint32_t id;     // original edge id, lower 32 bits
};
static_assert(sizeof(EdgeRecord<uint32_t>) == 12 && sizeof(EdgeRecord<int64_t>) == 16);

// From this record of the bucket on, ids have these upper bits (before the first such entry: 0).
// Ids ascend within a bucket, so there are few.
struct UpperBits {
  int64_t first_record = 0;
  int64_t bits = 0;  // already shifted: id = bits | record.id
};

// What is known of a bucket beside its records.
struct BucketedEdges {
  int64_t count = 0;
  std::vector<UpperBits> upper;
};

// How a node type's global ids are cut into buckets: ranges of at most `width` ids, none of which
// crosses the border of a partition. Buckets ascend with the ids, partition by partition, so that
// going through them in order writes each partition's files front to back. Immutable; thread-safe.
class BucketRanges {
 public:
  BucketRanges() = default;
  // `boundaries`: P + 1 ascending, as Renumbering has them. Requires 1 <= width <= 2^32.
  BucketRanges(const std::vector<int64_t>& boundaries, int64_t width);

  [[nodiscard]] size_t size() const { return starts_.size() - 1; }
  [[nodiscard]] IdRange range(size_t bucket) const {
    return {starts_[bucket], starts_[bucket + 1]};
  }
  // Buckets [first(p), first(p + 1)) are partition p's; none if it owns no node.
  [[nodiscard]] size_t first(int part) const { return first_[static_cast<size_t>(part)]; }
  // The bucket that holds a global id. Requires it to be below the last boundary.
  [[nodiscard]] size_t Find(int64_t id) const {
    const auto block = static_cast<size_t>(id >> shift_);
    const uint32_t low = of_block_[block];
    const uint32_t high = of_block_[block + 1];
    if (low == high) return low;
    const auto after = std::upper_bound(starts_.begin() + low + 1, starts_.begin() + high + 1, id);
    return static_cast<size_t>(after - starts_.begin()) - 1;
  }
  [[nodiscard]] int64_t start(size_t bucket) const { return starts_[bucket]; }

 private:
  std::vector<int64_t> starts_ = {0};  // of every bucket, and the end of the last
  std::vector<size_t> first_;
  int shift_ = 0;
  std::vector<uint32_t> of_block_;  // bucket of the first id of each 2^shift_ ids; in the cache
};

using VisitBytes = std::function<Status(std::span<const std::byte>)>;

// Holds edges until they are sorted. Buckets of bytes are appended to in any order; then each is
// read front to back and dropped. They are in memory if the graph fits, else in one scratch file,
// so that any number of buckets takes one file descriptor. Not thread-safe.
class BucketStore {
 public:
  virtual ~BucketStore() = default;
  // More buckets, empty ones; returns the number of the first.
  virtual size_t Add(size_t count) = 0;
  //   ResourceExhausted  disk full
  [[nodiscard]] virtual Status Append(size_t bucket, std::span<const std::byte> bytes) = 0;
  // Everything in the order it was appended, one piece each Append. A status other than OK ends
  // the reading and is returned.
  [[nodiscard]] virtual Status Read(size_t bucket, const VisitBytes& visit) = 0;
  // Says that a bucket will be read soon.
  virtual void ReadAhead(size_t bucket) = 0;
  // Gives back what the bucket takes; it is empty then.
  virtual void Drop(size_t bucket) = 0;
};

[[nodiscard]] std::unique_ptr<BucketStore> MakeMemoryBuckets();
// In a new file, which is removed with the store. Memory: 16 bytes an Append.
//   AlreadyExists, ResourceExhausted and what else creating a file reports
[[nodiscard]] StatusOr<std::unique_ptr<BucketStore>> MakeFileBuckets(
    const std::filesystem::path& path);

inline constexpr int64_t kLeastBufferRecords = 64;
inline constexpr int64_t kMostBufferBytes = int64_t{256} << 10;  // a bucket; no gain beyond

// How many records each of `buckets` buffers holds if all together may take `bytes`.
template <typename SourceT>
[[nodiscard]] int64_t BufferRecords(int64_t buckets, int64_t bytes) {
  constexpr auto kRecord = static_cast<int64_t>(sizeof(EdgeRecord<SourceT>));
  const int64_t each = std::min(bytes / std::max<int64_t>(buckets, 1), kMostBufferBytes);
  return std::max(each / kRecord, kLeastBufferRecords);
}

// Appends edges to the buckets of a store, each through a buffer of its own. Buffers take
// buckets * buffer_records records; their pages cost nothing before they are used. Not thread-safe.
template <typename SourceT>
class BucketWriter {
 public:
  using Record = EdgeRecord<SourceT>;

  // Into buckets [first, first + buckets) of the store, which are empty; edges per bucket and their
  // upper bits are added to `edges`, which has as many entries. `store` and `edges` must outlive
  // this.
  BucketWriter(BucketStore* store, size_t first, std::span<BucketedEdges> edges,
               int64_t buffer_records)
      : store_(store),
        first_(first),
        edges_(edges),
        capacity_(static_cast<size_t>(buffer_records)),
        buffers_(std::make_unique_for_overwrite<Record[]>(edges.size() * capacity_)),
        filled_(edges.size(), 0),
        upper_(edges.size(), 0) {}

  // Ids of a bucket ascend.
  [[nodiscard]] Status Add(size_t bucket, SourceT source, uint32_t row, int64_t id) {
    uint32_t& filled = filled_[bucket];
    const int64_t upper = id >> 32;
    if (upper != upper_[bucket]) NoteUpperBits(bucket, upper);
    buffers_[bucket * capacity_ + filled] = {source, row, static_cast<uint32_t>(id)};
    return ++filled == capacity_ ? Flush(bucket) : OkStatus();
  }
  // To be called at the end.
  [[nodiscard]] Status FlushAll() {
    for (size_t bucket = 0; bucket < filled_.size(); ++bucket) {
      if (filled_[bucket] > 0) HG_RETURN_IF_ERROR(Flush(bucket));
    }
    return OkStatus();
  }

 private:
  void NoteUpperBits(size_t bucket, int64_t upper) {
    edges_[bucket].upper.push_back({edges_[bucket].count + filled_[bucket], upper << 32});
    upper_[bucket] = upper;
  }
  [[nodiscard]] Status Flush(size_t bucket) {
    const std::span<const Record> records(&buffers_[bucket * capacity_], filled_[bucket]);
    edges_[bucket].count += static_cast<int64_t>(records.size());
    filled_[bucket] = 0;
    return store_->Append(first_ + bucket, std::as_bytes(records));
  }

  BucketStore* const store_;
  const size_t first_;
  const std::span<BucketedEdges> edges_;
  const size_t capacity_;
  const std::unique_ptr<Record[]> buffers_;
  std::vector<uint32_t> filled_;
  std::vector<int64_t> upper_;  // of the last id of each bucket
};

}  // namespace halograph
