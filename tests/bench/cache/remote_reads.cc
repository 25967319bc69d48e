#include "tests/bench/cache/remote_reads.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/rng.h"
#include "common/sampling/fused_sampler.h"

namespace halograph {
namespace {

constexpr int64_t kRanks = 4;

// The rank's training nodes: the same in every epoch.
std::vector<int64_t> TrainNodes(const RmatCsc& graph, const RemoteReadsOptions& options) {
  std::vector<int64_t> nodes;
  CounterRng rng(SubKey(options.seed, 1));
  for (int64_t id = 0; id < graph.nodes / kRanks; ++id) {
    if (rng.NextDouble() < options.train) nodes.push_back(id);
  }
  return nodes;
}

// The probability that a minibatch reads each node (Kaler et al., SALIENT++): a node of hop h + 1
// is read unless none of its hop-h destinations draws the edge from it.
std::vector<float> Vip(const RmatCsc& graph, const std::vector<int64_t>& train,
                       const RemoteReadsOptions& options) {
  std::vector<double> hop(static_cast<size_t>(graph.nodes));
  for (const int64_t id : train) {
    hop[id] = std::min(1.0, static_cast<double>(options.batch) / static_cast<double>(train.size()));
  }
  std::vector<double> unread(hop.size());  // log of the probability
  const int64_t* const indptr = graph.indptr.data();
  for (const int32_t fanout : options.fanouts) {
    std::vector<double> not_drawn(hop.size());
    for (int64_t v = 0; v < graph.nodes; ++v) {
      const int64_t degree = indptr[v + 1] - indptr[v];
      if (hop[v] == 0 || degree == 0) continue;
      const double drawn = std::min(1.0, fanout / static_cast<double>(degree)) * hop[v];
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
        not_drawn[graph.indices.data()[e]] += std::log1p(-std::min(drawn, 1 - 1e-12));
      }
    }
    for (size_t u = 0; u < hop.size(); ++u) {
      hop[u] = -std::expm1(not_drawn[u]);
      unread[u] += not_drawn[u];
    }
  }
  std::vector<float> vip;
  for (int64_t u = graph.nodes / kRanks; u < graph.nodes; ++u) {
    vip.push_back(static_cast<float>(-std::expm1(unread[static_cast<size_t>(u)])));
  }
  return vip;
}

}  // namespace

RmatCsc MakeCommunityCsc(int log2_nodes, uint64_t seed) {
  constexpr int64_t kDegree = 16;
  constexpr int64_t kSize = 1024;
  RmatCsc graph;
  graph.nodes = int64_t{1} << log2_nodes;
  graph.edges = graph.nodes * kDegree;
  graph.indptr = FusedArray<int64_t>(static_cast<size_t>(graph.nodes) + 1);
  graph.indices = FusedArray<uint32_t>(static_cast<size_t>(graph.edges));
  CounterRng rng(SubKey(seed, 0));
  for (int64_t v = 0; v < graph.nodes; ++v) {
    graph.indptr.data()[v + 1] = (v + 1) * kDegree;
    for (int64_t e = v * kDegree; e < (v + 1) * kDegree; ++e) {
      const bool inside = rng.NextBounded(6) > 0;
      const uint64_t u =
          inside ? static_cast<uint64_t>(v / kSize * kSize) +
                       rng.NextBounded(static_cast<uint64_t>(std::min(kSize, graph.nodes)))
                 : rng.NextBounded(static_cast<uint64_t>(graph.nodes));
      graph.indices.data()[e] = static_cast<uint32_t>(u);
    }
  }
  graph.schema.node_types.push_back({.name = "node", .count = graph.nodes, .features = {}});
  graph.schema.relations.push_back({.source = "node",
                                    .name = "edge",
                                    .destination = "node",
                                    .count = graph.edges,
                                    .features = {}});
  graph.topology.emplace_back(std::vector<int64_t>{0, graph.nodes},
                              std::vector<CscSegment>{{.nodes = {0, graph.nodes},
                                                       .indptr = graph.indptr.data(),
                                                       .indices32 = graph.indices.data()}});
  return graph;
}

StatusOr<RemoteReads> SampleRemoteReads(const RmatCsc& graph, const RemoteReadsOptions& options) {
  const int64_t own = graph.nodes / kRanks;
  std::vector<int64_t> train = TrainNodes(graph, options);
  RemoteReads reads;
  reads.rows = graph.nodes - own;
  reads.vip = Vip(graph, train, options);
  const FusedSampler sampler(&graph.schema, &graph.topology);
  FusedWorkspace workspace(graph.schema);
  const SamplingSpec spec = SamplingSpec::Uniform(graph.schema, options.fanouts);
  Minibatch minibatch;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    CounterRng rng(SubKey(options.seed, 2 + static_cast<uint64_t>(epoch)));
    for (size_t i = train.size(); i > 1; --i) std::swap(train[i - 1], train[rng.NextBounded(i)]);
    for (size_t first = 0; first < train.size(); first += static_cast<size_t>(options.batch)) {
      const size_t size = std::min(train.size() - first, static_cast<size_t>(options.batch));
      const SampleRequest request{
          .seeds = {{.type = 0, .ids = std::span(train).subspan(first, size)}},
          .batch_seed = SubKey(options.seed, 1000 + reads.steps.size()),
          .spec = &spec};
      HG_RETURN_IF_ERROR(sampler.Sample(request, &workspace, &minibatch));
      std::vector<int64_t>& ids = reads.steps.emplace_back();
      for (const int64_t id : minibatch.nodes[0]) {
        if (id >= own) ids.push_back(id - own);
      }
    }
    if (epoch == 0) reads.of_epoch = std::ssize(reads.steps);
  }
  return reads;
}

}  // namespace halograph
