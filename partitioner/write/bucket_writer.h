// Appends edges to the buckets of a store, each through a buffer of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "partitioner/write/bucket_store.h"
#include "partitioner/write/edge_record.h"

namespace halograph {

inline constexpr int64_t kLeastBufferRecords = 64;
inline constexpr int64_t kMostBufferBytes = int64_t{256} << 10;  // a bucket; no gain beyond

// Records that each of `buckets` buffers holds if all may take `bytes` together.
template <typename SourceT>
[[nodiscard]] int64_t BufferRecords(int64_t buckets, int64_t bytes) {
  constexpr auto kRecord = static_cast<int64_t>(sizeof(EdgeRecord<SourceT>));
  const int64_t each = std::min(bytes / std::max<int64_t>(buckets, 1), kMostBufferBytes);
  return std::max(each / kRecord, kLeastBufferRecords);
}

// Not thread-safe. Buffers take buckets * buffer_records records; their pages cost nothing before
// they are used.
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
