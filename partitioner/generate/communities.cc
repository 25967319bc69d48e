#include "partitioner/generate/communities.h"

#include <utility>

namespace halograph {

GeneratedGraph DescribeCommunities(const NodePairs& pairs, const CornerFeatures& features,
                                   std::function<int64_t(int64_t node)> community_of) {
  GeneratedGraph graph;
  graph.edges = 2 * pairs.size();
  graph.fill_edges = [&pairs](int64_t begin, std::span<int64_t> sources,
                              std::span<int64_t> destinations) {
    pairs.FillEdges(begin, sources, destinations);
  };
  graph.fill_features = [&features, community_of](int64_t node, std::span<float> row) {
    features.Fill(node, static_cast<uint64_t>(community_of(node)), row);
  };
  graph.label = std::move(community_of);
  return graph;
}

}  // namespace halograph
