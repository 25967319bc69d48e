#include "partitioner/methods/degrees.h"

#include "partitioner/stream/ahead.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {
namespace {

void Increment(uint32_t* count) { *count += *count < kMaxDegree ? 1 : 0; }

void CountChunk(const UnionEdges& edges, SelfLoops self_loops, NodeDegree* degrees) {
  const size_t size = edges.sources.size();
  for (size_t i = 0; i < size; ++i) {
    PrefetchEnds(edges, i + kFarAhead, degrees);
    const int64_t u = edges.sources[i];
    const int64_t v = edges.destinations[i];
    Increment(&degrees[v].in);
    if (u == v && self_loops == SelfLoops::kIgnored) continue;
    Increment(&degrees[u].total);
    Increment(&degrees[v].total);
  }
}

}  // namespace

StatusOr<Degrees> CountDegrees(const Dataset& dataset, SelfLoops self_loops) {
  Degrees degrees;
  HG_ASSIGN_OR_RETURN(degrees.of,
                      NodeArray<NodeDegree>::Make(UnionNodes(dataset).count(), "degrees"));
  HG_RETURN_IF_ERROR(ForEachUnionEdges(dataset, "degrees", [&](const UnionEdges& edges) {
    CountChunk(edges, self_loops, degrees.of.data());
    degrees.edges += static_cast<int64_t>(edges.sources.size());
    return OkStatus();
  }));
  for (const NodeDegree& degree : degrees.of.span()) {
    degrees.volume += degree.total;
    degrees.connected += degree.total > 0 ? 1 : 0;
  }
  return degrees;
}

}  // namespace halograph
