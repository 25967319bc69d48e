#include "partitioner/methods/degrees.h"

#include "partitioner/methods/end_counter.h"
#include "partitioner/stream/edge_pass.h"
#include "partitioner/stream/union_nodes.h"

namespace halograph {
namespace {

void CountChunk(const UnionEdges& edges, SelfLoops self_loops, NodeDegree* degrees,
                EndCounter* counter) {
  const size_t size = edges.sources.size();
  for (size_t i = 0; i < size; ++i) {
    const int64_t u = edges.sources[i];
    const int64_t v = edges.destinations[i];
    if (u == v && self_loops == SelfLoops::kIgnored) {
      degrees[v].in += degrees[v].in < kMaxDegree ? 1 : 0;
      continue;
    }
    counter->AddSource(u);
    counter->AddDestination(v);
  }
}

}  // namespace

StatusOr<Degrees> CountDegrees(const Dataset& dataset, SelfLoops self_loops) {
  Degrees degrees;
  HG_ASSIGN_OR_RETURN(degrees.of,
                      NodeArray<NodeDegree>::Make(UnionNodes(dataset).count(), "degrees"));
  HG_ASSIGN_OR_RETURN(EndCounter counter, EndCounter::Make(&degrees.of));
  HG_RETURN_IF_ERROR(ForEachUnionEdges(dataset, "degrees", [&](const UnionEdges& edges) {
    CountChunk(edges, self_loops, degrees.of.data(), &counter);
    degrees.edges += static_cast<int64_t>(edges.sources.size());
    return OkStatus();
  }));
  counter.Finish();
  for (const NodeDegree& degree : degrees.of.span()) {
    degrees.volume += degree.total;
    degrees.connected += degree.total > 0 ? 1 : 0;
  }
  return degrees;
}

}  // namespace halograph
