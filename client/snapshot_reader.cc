#include "client/snapshot_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace halograph {

SnapshotReader::SnapshotReader(const MutableTensorSpec& spec,
                               std::unique_ptr<RowPlacement> placement, const TakeImages* take)
    : name_(spec.ref.ToString()),
      image_bytes_(RowLayout::Of(spec).image_bytes()),
      placement_(std::move(placement)),
      take_(*take) {}

StatusOr<std::unique_ptr<SnapshotReader>> SnapshotReader::Make(const MutableTensorSpec& spec,
                                                               const Schema& schema,
                                                               const PartitionBook& book,
                                                               const TakeImages* take) {
  HG_ASSIGN_OR_RETURN(std::unique_ptr<RowPlacement> placement,
                      RowPlacement::Make(spec, schema, book));
  return std::unique_ptr<SnapshotReader>(new SnapshotReader(spec, std::move(placement), take));
}

Status SnapshotReader::Take(int part, std::span<const int64_t> rows,
                            std::span<const std::byte> images, std::optional<int64_t> step) {
  const int64_t first = placement_->boundaries()[static_cast<size_t>(part)];
  const int64_t count = placement_->boundaries()[static_cast<size_t>(part) + 1] - first;
  if (images.size() != rows.size() * image_bytes_) {
    return DataLoss("{}: a page of part {} has {} bytes of images for {} rows of {}", name_, part,
                    images.size(), rows.size(), image_bytes_);
  }
  std::vector<int64_t> ids;
  ids.reserve(rows.size());
  for (const int64_t row : rows) {
    if (row < 0 || row >= count) {
      return DataLoss("{}: a page of part {} has row {} of {}", name_, part, row, count);
    }
    ids.push_back(placement_->Id(first + row));
  }
  const MutexLock lock(mutex_);
  step_ = std::max(step_, step.value_or(-1));
  return take_(ids, images);
}

int64_t SnapshotReader::step() const {
  const MutexLock lock(mutex_);
  return step_;
}

}  // namespace halograph
