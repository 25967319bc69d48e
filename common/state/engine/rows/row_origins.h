// The original ids of the rows that a partition has of a tensor: what rows begin with depends on
// them. Borrows the graph's ids; const use is thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "common/state/placement.h"
#include "common/state/state_store.h"

namespace halograph {

class RowOrigins {
 public:
  // `positions`: of `placement`, those that the partition has. Errors of graph.original_ids;
  // Internal if it has another number of ids than rows.
  [[nodiscard]] static StatusOr<RowOrigins> Make(const MutableTensorSpec& spec,
                                                 std::shared_ptr<const RowPlacement> placement,
                                                 IdRange positions, const StateGraph& graph);

  [[nodiscard]] int64_t rows() const { return positions_.size(); }
  [[nodiscard]] int64_t total_rows() const { return placement_->rows(); }  // of the whole tensor

  // Of a local row.
  [[nodiscard]] int64_t Of(int64_t row) const {
    return by_graph_ ? of_graph_[static_cast<size_t>(row)] : placement_->Id(positions_.begin + row);
  }
  // Of local rows [begin, end): where they stand, or in `made`.
  [[nodiscard]] std::span<const int64_t> Of(int64_t begin, int64_t end,
                                            std::vector<int64_t>* made) const;

 private:
  RowOrigins(std::shared_ptr<const RowPlacement> placement, IdRange positions)
      : placement_(std::move(placement)), positions_(positions) {}

  std::shared_ptr<const RowPlacement> placement_;
  IdRange positions_;
  bool by_graph_ = false;
  std::span<const int64_t> of_graph_;
};

}  // namespace halograph
