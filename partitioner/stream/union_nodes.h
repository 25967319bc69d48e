// The nodes of all types as one range, which is what partition methods work on: union id = offset
// of the type + input id. Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "partitioner/readers/dataset.h"

namespace halograph {

class UnionNodes {
 public:
  explicit UnionNodes(const Dataset& dataset);

  [[nodiscard]] int64_t count() const { return offsets_.back(); }
  [[nodiscard]] int num_types() const { return static_cast<int>(offsets_.size()) - 1; }
  // Types + 1; the last is the number of nodes.
  [[nodiscard]] const std::vector<int64_t>& offsets() const { return offsets_; }
  [[nodiscard]] int64_t offset(int type) const { return offsets_[static_cast<size_t>(type)]; }
  // Of a union id within the range. O(log types).
  [[nodiscard]] int TypeOf(int64_t node) const;
  // owners[node] -> owners[type][input id], as Assignment has them. OwnerT: uint16_t or int32_t.
  template <typename OwnerT = uint16_t>
  [[nodiscard]] std::vector<std::vector<uint16_t>> SplitByType(
      const std::vector<OwnerT>& owners) const {
    std::vector<std::vector<uint16_t>> split;
    for (int type = 0; type < num_types(); ++type) {
      split.emplace_back(owners.begin() + offset(type), owners.begin() + offset(type + 1));
    }
    return split;
  }

 private:
  std::vector<int64_t> offsets_;
};

}  // namespace halograph
