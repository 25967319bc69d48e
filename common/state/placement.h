// Which partition owns which row of a mutable tensor. A policy gives every id a position; each
// partition owns one contiguous range of positions, and keeps its rows in their order. Immutable;
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/graph/partition_book.h"
#include "common/graph/schema.h"
#include "common/state/mutable_tensor.h"

namespace halograph {

class RowPlacement {
 public:
  virtual ~RowPlacement() = default;

  // The policy of spec.placement. Requires a valid spec. NotFound naming an unknown node type or
  // relation and what exists.
  [[nodiscard]] static StatusOr<std::unique_ptr<RowPlacement>> Make(const MutableTensorSpec& spec,
                                                                    const Schema& schema,
                                                                    const PartitionBook& book);

  // One more than parts: partition p owns positions [boundaries[p], boundaries[p + 1]).
  [[nodiscard]] std::span<const int64_t> boundaries() const { return boundaries_; }
  [[nodiscard]] int64_t rows() const { return boundaries_.back(); }  // of the whole tensor

  // A bijection of [0, rows()) and its inverse. Requires an id, and a position, within.
  [[nodiscard]] virtual int64_t Position(int64_t id) const = 0;
  [[nodiscard]] virtual int64_t Id(int64_t position) const = 0;
  // Whether the position of every id is the id itself.
  [[nodiscard]] virtual bool in_order() const { return false; }

  [[nodiscard]] int Owner(int64_t id) const { return FindRange(boundaries_, Position(id)); }

 protected:
  explicit RowPlacement(std::vector<int64_t> boundaries) : boundaries_(std::move(boundaries)) {}

 private:
  const std::vector<int64_t> boundaries_;
};

}  // namespace halograph
