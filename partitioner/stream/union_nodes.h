// The nodes of all types as one range, on which partition methods work. Union id = offset of the
// type + input id. Immutable; thread-safe.
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
  // values[node] -> values[type][input id] as T: the form of Assignment's owners (uint16_t) and
  // order keys (uint32_t).
  template <typename T = uint16_t, typename Values = std::vector<T>>
  [[nodiscard]] std::vector<std::vector<T>> SplitByType(const Values& values) const {
    std::vector<std::vector<T>> split;
    for (int type = 0; type < num_types(); ++type) {
      split.emplace_back(values.begin() + offset(type), values.begin() + offset(type + 1));
    }
    return split;
  }

 private:
  std::vector<int64_t> offsets_;
};

}  // namespace halograph
