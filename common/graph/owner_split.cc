#include "common/graph/owner_split.h"

#include <algorithm>

#include "common/graph/partition_book.h"

namespace halograph {

// Counts, prefix sum, one exact allocation, then every id to its place.
int OwnerSplit::Split(std::span<const int64_t> boundaries, std::span<const int> target_of_part,
                      int num_targets, std::span<const int64_t> ids,
                      std::span<const int64_t> positions) {
  shares_.clear();
  targets_.resize(ids.size());
  starts_.assign(static_cast<size_t>(num_targets) + 1, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int part = FindRange(boundaries, ids[i]);
    const int target = target_of_part[static_cast<size_t>(part)];
    if (target < 0) return part;
    targets_[i] = target;
    ++starts_[static_cast<size_t>(target) + 1];
  }
  for (size_t t = 1; t < starts_.size(); ++t) starts_[t] += starts_[t - 1];
  ids_.resize(ids.size());
  positions_.resize(ids.size());
  const std::span<const int64_t> all_ids = ids_;
  const std::span<const int64_t> all_positions = positions_;
  for (size_t t = 0; t + 1 < starts_.size(); ++t) {
    const size_t count = starts_[t + 1] - starts_[t];
    shares_.push_back(
        {all_ids.subspan(starts_[t], count), all_positions.subspan(starts_[t], count)});
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t place = starts_[static_cast<size_t>(targets_[i])]++;
    ids_[place] = ids[i];
    positions_[place] = positions.empty() ? static_cast<int64_t>(i) : positions[i];
  }
  return -1;
}

size_t FindOutside(std::span<const int64_t> ids, int64_t count) {
  const auto outside =
      std::find_if(ids.begin(), ids.end(), [count](int64_t id) { return id < 0 || id >= count; });
  return static_cast<size_t>(outside - ids.begin());
}

Status CheckIdRange(std::span<const int64_t> ids, int64_t count, std::string_view what) {
  const size_t outside = FindOutside(ids, count);
  if (outside == ids.size()) return OkStatus();
  return OutOfRange("{}: id {} at position {} is outside its {} rows", what, ids[outside], outside,
                    count);
}

}  // namespace halograph
