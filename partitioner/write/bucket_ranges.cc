#include "partitioner/write/bucket_ranges.h"

#include <bit>

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

}  // namespace halograph
