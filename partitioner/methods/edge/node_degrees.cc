#include "partitioner/methods/edge/node_degrees.h"

#include <limits>

#include "partitioner/methods/edge/edge_partitioner.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {
namespace {

void Increment(uint32_t* count) { *count += *count < std::numeric_limits<uint32_t>::max() ? 1 : 0; }

}  // namespace

StatusOr<NodeDegrees> NodeDegrees::Count(const Dataset& dataset) {
  NodeDegrees degrees;
  HG_ASSIGN_OR_RETURN(degrees.of,
                      NodeArray<NodeDegree>::Make(UnionNodes(dataset).count(), "node degrees"));
  HG_RETURN_IF_ERROR(ForEachUnionEdges(dataset, "degrees", [&](const UnionEdges& edges) {
    for (size_t i = 0; i < edges.sources.size(); ++i) {
      PrefetchEnds(edges, i + kPrefetchEdges, degrees.of.data());
      Increment(&degrees.of[edges.sources[i]].total);
      Increment(&degrees.of[edges.destinations[i]].total);
      Increment(&degrees.of[edges.destinations[i]].in);
    }
    degrees.edges += static_cast<int64_t>(edges.sources.size());
    return OkStatus();
  }));
  return degrees;
}

}  // namespace halograph
