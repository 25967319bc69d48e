#include "partitioner/methods/stream_metis/node_loads.h"

namespace halograph {

NodeLoads::NodeLoads(const NodeWeights& weights, std::span<const uint16_t> owners, int parts)
    : weights_(&weights),
      constraints_{weights.constraints(), {}},
      loads_(constraints_, {}, parts),
      row_(weights.count()) {
  for (size_t v = 0; v < owners.size(); ++v) {
    loads_.Move(Row(static_cast<int64_t>(v)), -1, owners[v]);
  }
}

const int32_t* NodeLoads::Row(int64_t node) {
  weights_->Row(node, row_.data());
  return row_.data();
}

}  // namespace halograph
