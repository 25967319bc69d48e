#include "partitioner/methods/stream_metis/degree_pass.h"

#include "common/base/units.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {

StatusOr<Degrees> CountStreamDegrees(const Dataset& dataset) {
  const int64_t nodes = UnionNodes(dataset).count();
  if (nodes > kMaxStreamNodes) {
    return ResourceExhausted(
        "stream-metis: {} nodes are more than its 32-bit ids hold ({}); use --method random",
        FormatCount(nodes), FormatCount(kMaxStreamNodes));
  }
  return CountDegrees(dataset, SelfLoops::kIgnored);
}

}  // namespace halograph
