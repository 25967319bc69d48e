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

std::vector<std::vector<uint16_t>> UnionNodes::SplitByType(
    const std::vector<uint16_t>& owners) const {
  std::vector<std::vector<uint16_t>> split;
  for (int type = 0; type < num_types(); ++type) {
    split.emplace_back(owners.begin() + offset(type), owners.begin() + offset(type + 1));
  }
  return split;
}

}  // namespace halograph
