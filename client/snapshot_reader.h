// Puts the pages of a snapshot, of all partitions, together for TensorAdmin::ReadSnapshot: checks
// them, and gives their rows on under global ids. Thread-safe: pages of several partitions may come
// at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "client/tensor_admin.h"
#include "common/base/mutex.h"
#include "common/state/placement.h"

namespace halograph {

class SnapshotReader {
 public:
  // `take` outlives it. Errors as RowPlacement::Make.
  [[nodiscard]] static StatusOr<std::unique_ptr<SnapshotReader>> Make(const MutableTensorSpec& spec,
                                                                      const Schema& schema,
                                                                      const PartitionBook& book,
                                                                      const TakeImages* take);

  // One page of StateStore::ReadSnapshot of a partition.
  //   DataLoss  a row that the partition does not own; images of another size
  //   else      what `take` returns
  [[nodiscard]] Status Take(int part, std::span<const int64_t> rows,
                            std::span<const std::byte> images, std::optional<int64_t> step);
  // The last step that the pages told of; -1: none.
  [[nodiscard]] int64_t step() const;

 private:
  SnapshotReader(const MutableTensorSpec& spec, std::unique_ptr<RowPlacement> placement,
                 const TakeImages* take);

  const std::string name_;
  const size_t image_bytes_;
  const std::unique_ptr<RowPlacement> placement_;
  const TakeImages& take_;
  mutable Mutex mutex_;  // also while take_ runs
  int64_t step_ HG_GUARDED_BY(mutex_) = -1;
};

}  // namespace halograph
