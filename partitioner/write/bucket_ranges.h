// How a node type's global ids are cut into buckets: ranges of at most `width` ids, none of which
// crosses the border of a partition. Buckets ascend with the ids, partition by partition, so that
// going through them in order writes each partition's files front to back. Immutable; thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/graph/partition_book.h"

namespace halograph {

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

}  // namespace halograph
