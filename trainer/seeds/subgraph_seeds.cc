#include "trainer/seeds/subgraph_seeds.h"

#include <algorithm>

namespace halograph {

Status SubgraphSeeds::Collect(std::span<const int64_t> /*rows*/, uint64_t /*key*/,
                              StepSeeds* step) const {
  *step = {};
  return OkStatus();
}

FoundRows SubgraphSeeds::FindRows(const Minibatch& minibatch) const {
  FoundRows found{.type = type_,
                  .positions = {},
                  .labels = {.dtype = all_.labels.dtype, .dim = all_.labels.dim, .data = {}},
                  .weights = {}};
  const std::vector<int64_t>& nodes = minibatch.nodes[static_cast<size_t>(type_)];
  const size_t bytes = all_.labels.row_bytes();
  for (size_t position = 0; position < nodes.size(); ++position) {
    const auto [first, last] =
        std::equal_range(all_.seeds.begin(), all_.seeds.end(), nodes[position]);
    const auto* const row = all_.labels.data.data() + (first - all_.seeds.begin()) * bytes;
    found.labels.data.insert(found.labels.data.end(), row, row + (last - first) * bytes);
    const auto rows = static_cast<size_t>(last - first);
    found.positions.insert(found.positions.end(), rows, static_cast<int32_t>(position));
    if (minibatch.node_weights.empty()) continue;
    found.weights.insert(found.weights.end(), rows, minibatch.node_weights[position]);
  }
  return found;
}

}  // namespace halograph
