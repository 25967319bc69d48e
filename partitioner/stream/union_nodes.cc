#include "partitioner/stream/union_nodes.h"

#include <algorithm>

namespace halograph {

UnionNodes::UnionNodes(const Dataset& dataset) : offsets_{0} {
  for (const InputNodeType& type : dataset.node_types) {
    offsets_.push_back(offsets_.back() + type.count);
  }
}

int UnionNodes::TypeOf(int64_t node) const {
  const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), node);
  return static_cast<int>(after - offsets_.begin()) - 1;
}

}  // namespace halograph
