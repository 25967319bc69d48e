#include "client/original_ids.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/graph/tensor_ref.h"

namespace halograph {

Status ForEachOriginalIds(const Stores& stores, int type, const CancelToken* cancel,
                          const TakeOriginalIds& take) {
  constexpr int64_t kNodesAtATime = int64_t{1} << 16;
  const NodeType& node_type = stores.graph->info().schema.node_types[static_cast<size_t>(type)];
  const TensorRef tensor{false, node_type.name, kOriginalIdTensor};
  std::vector<int64_t> global, originals;
  CallContext context{.cancel = cancel};
  for (int64_t begin = 0; begin < node_type.count; begin += kNodesAtATime) {
    global.resize(static_cast<size_t>(std::min(kNodesAtATime, node_type.count - begin)));
    originals.resize(global.size());
    std::iota(global.begin(), global.end(), begin);
    HG_RETURN_IF_ERROR(stores.rows->Pull(
        {.tensor = tensor, .ids = global, .out = std::as_writable_bytes(std::span(originals))},
        context));
    HG_RETURN_IF_ERROR(take(global, originals));
  }
  return OkStatus();
}

}  // namespace halograph
