#include "tests/bench/cache/remote_reads.h"

#include <algorithm>
#include <utility>

#include "common/base/rng.h"
#include "common/sampling/inclusion.h"
#include "common/sampling/kernel/fused_sampler.h"

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

// How likely a minibatch reads each row that others own.
std::vector<float> Vip(const RmatCsc& graph, const std::vector<int64_t>& train,
                       const RemoteReadsOptions& options, const SamplingSpec& spec) {
  NodeChances seeds = {std::vector<float>(static_cast<size_t>(graph.nodes))};
  const float chance =
      std::min(1.0F, static_cast<float>(options.batch) / static_cast<float>(train.size()));
  for (const int64_t id : train) seeds[0][static_cast<size_t>(id)] = chance;
  std::vector<float> all = InclusionChances(graph.schema, graph.topology, spec, seeds)[0];
  all.erase(all.begin(), all.begin() + graph.nodes / kRanks);
  return all;
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
  DescribeCsc(&graph);
  return graph;
}

StatusOr<RemoteReads> SampleRemoteReads(const RmatCsc& graph, const RemoteReadsOptions& options) {
  const int64_t own = graph.nodes / kRanks;
  std::vector<int64_t> train = TrainNodes(graph, options);
  RemoteReads reads;
  reads.rows = graph.nodes - own;
  const SamplingSpec spec = SamplingSpec::Uniform(graph.schema, options.fanouts);
  reads.vip = Vip(graph, train, options, spec);
  const FusedSampler sampler(&graph.schema, &graph.topology);
  FusedWorkspace workspace(graph.schema);
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
