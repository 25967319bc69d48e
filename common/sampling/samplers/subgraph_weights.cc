// Compiled without contraction: every machine gives the same weights.
#include "common/sampling/samplers/subgraph_weights.h"

namespace halograph {
namespace {

// Of rows offsets[v] .. offsets[v + 1] those of v.
template <typename Id>
std::span<const Id> RowOf(std::span<const int64_t> offsets, std::span<const Id> sources, size_t v) {
  return sources.subspan(static_cast<size_t>(offsets[v]),
                         static_cast<size_t>(offsets[v + 1] - offsets[v]));
}

// `pairs`: the two ends of each edge; of a self-loop anything, as both come with its node.
template <typename Id>
void SetFactors(std::span<const int64_t> offsets, std::span<const Id> sources,
                std::span<const PairChances> pairs, SubgraphWeights* weights) {
  weights->factors.clear();
  weights->factors.reserve(pairs.size());
  for (size_t v = 0; v < weights->chances.size(); ++v) {
    for (const Id u : RowOf(offsets, sources, v)) {
      const double both = pairs[weights->factors.size()].both;
      if (static_cast<size_t>(u) == v) {
        weights->factors.push_back(1);
      } else {
        weights->factors.push_back(both > 0 ? EdgeFactor(weights->chances[v], both) : 0);
      }
    }
  }
}

}  // namespace

void SubgraphWeigher::CountEdgesAt(const SubgraphEdges& edges) {
  for (size_t v = 0; v < at_.size(); ++v) {
    uint64_t self_loops = 0;
    for (const int32_t u : RowOf(edges.offsets, edges.sources, v)) {
      self_loops += static_cast<size_t>(u) == v ? 1 : 0;
    }
    at_[v] = EdgesAt(at_[v], self_loops);
  }
}

void SubgraphWeigher::PairEnds(const SubgraphEdges& edges, uint64_t all, bool brings_both) {
  parallel_.assign(at_.size(), 0);
  pairs_.clear();
  pairs_.reserve(edges.sources.size());
  for (size_t v = 0; v < at_.size(); ++v) {
    const auto row = RowOf(edges.offsets, edges.sources, v);
    for (const int32_t u : row) ++parallel_[u];
    for (const int32_t u : row) {
      const bool joined = brings_both && static_cast<size_t>(u) != v;
      pairs_.push_back(joined ? PairOfEdgeDraw(at_[u], at_[v], 2 * uint64_t{parallel_[u]}, all)
                              : PairOfNodeDraw(at_[u], at_[v], all));
    }
    for (const int32_t u : row) parallel_[u] = 0;
  }
}

void SubgraphWeigher::WeighDraws(const SubgraphEdges& edges, uint64_t all, int64_t draws,
                                 bool brings_both, SubgraphWeights* weights) {
  at_.assign(edges.degrees.begin(), edges.degrees.end());
  if (brings_both) CountEdgesAt(edges);
  weights->chances.clear();
  for (const uint64_t at : at_) {
    weights->chances.push_back(ChanceOfNode(ChanceOfOneDraw(at, all), draws));
  }
  PairEnds(edges, all, brings_both);
  CombineDraws(pairs_, draws);
  SetFactors<int32_t>(edges.offsets, edges.sources, pairs_, weights);
}

void SubgraphWeigher::WeighNodeDraws(const SubgraphEdges& edges, uint64_t all, int64_t draws,
                                     SubgraphWeights* weights) {
  WeighDraws(edges, all, draws, false, weights);
}

void SubgraphWeigher::WeighEdgeDraws(const SubgraphEdges& edges, uint64_t all, int64_t draws,
                                     SubgraphWeights* weights) {
  WeighDraws(edges, all, draws, true, weights);
}

SubgraphWeights WeighWalks(const InEdgeLists& graph, const WalkChances& walks, int64_t draws) {
  SubgraphWeights weights;
  std::vector<PairChances> pairs;
  pairs.reserve(graph.sources.size());
  for (size_t v = 0; v < walks.nodes.size(); ++v) {
    weights.chances.push_back(ChanceOfNode(walks.nodes[v], draws));
    for (const uint32_t u : RowOf(graph.offsets, graph.sources, v)) {
      pairs.push_back(PairOfChances(walks.nodes[u], walks.nodes[v], walks.edges[pairs.size()]));
    }
  }
  CombineDraws(pairs, draws);
  SetFactors<uint32_t>(graph.offsets, graph.sources, pairs, &weights);
  return weights;
}

}  // namespace halograph
