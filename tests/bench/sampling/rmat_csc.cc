#include "tests/bench/sampling/rmat_csc.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "common/base/rng.h"

namespace halograph {
namespace {

std::vector<uint32_t> Permutation(int64_t n, uint64_t seed) {
  std::vector<uint32_t> ids(static_cast<size_t>(n));
  std::iota(ids.begin(), ids.end(), 0U);
  CounterRng rng(SubKey(seed, 0));
  for (int64_t i = n - 1; i > 0; --i) std::swap(ids[i], ids[rng.NextBounded(i + 1)]);
  return ids;
}

// Both directions of each edge as destination << 32 | source.
std::vector<uint64_t> DrawEdges(int log2_nodes, int64_t drawn, uint64_t seed) {
  const std::vector<uint32_t> ids = Permutation(int64_t{1} << log2_nodes, seed);
  CounterRng rng(SubKey(seed, 1));
  std::vector<uint64_t> edges;
  edges.reserve(static_cast<size_t>(2 * drawn));
  for (int64_t e = 0; e < drawn; ++e) {
    uint32_t u = 0;
    uint32_t v = 0;
    for (int level = 0; level < log2_nodes; ++level) {
      const double x = rng.NextDouble();
      const uint32_t quadrant = (x >= 0.57) + (x >= 0.76) + (x >= 0.95);
      u = 2 * u + (quadrant >> 1);
      v = 2 * v + (quadrant & 1);
    }
    edges.push_back(uint64_t{ids[u]} << 32 | ids[v]);
    edges.push_back(uint64_t{ids[v]} << 32 | ids[u]);
  }
  return edges;
}

}  // namespace

void DescribeCsc(RmatCsc* graph) {
  graph->schema.node_types.push_back({.name = "node", .count = graph->nodes, .features = {}});
  graph->schema.relations.push_back({.source = "node",
                                     .name = "edge",
                                     .destination = "node",
                                     .count = graph->edges,
                                     .features = {}});
  graph->topology.emplace_back(std::vector<int64_t>{0, graph->nodes},
                               std::vector<CscSegment>{{.nodes = {0, graph->nodes},
                                                        .indptr = graph->indptr.data(),
                                                        .indices32 = graph->indices.data()}});
}

RmatCsc MakeRmatCsc(const RmatCscOptions& options) {
  std::vector<uint64_t> edges = DrawEdges(options.log2_nodes, options.drawn, options.seed);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  RmatCsc graph;
  graph.nodes = int64_t{1} << options.log2_nodes;
  graph.edges = std::ssize(edges);
  graph.indptr = FusedArray<int64_t>(static_cast<size_t>(graph.nodes) + 1);
  graph.indices = FusedArray<uint32_t>(edges.size());
  int64_t* const indptr = graph.indptr.data();
  for (size_t e = 0; e < edges.size(); ++e) {
    ++indptr[(edges[e] >> 32) + 1];
    graph.indices.data()[e] = static_cast<uint32_t>(edges[e]);
  }
  std::partial_sum(indptr, indptr + graph.nodes + 1, indptr);
  DescribeCsc(&graph);
  return graph;
}

}  // namespace halograph
