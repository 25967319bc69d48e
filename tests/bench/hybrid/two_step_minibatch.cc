#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/bench/hybrid/end_report.h"
#include "tests/bench/hybrid/two_step.h"
#include "tests/bench/sampling/two_step.h"

namespace halograph {

// The project's own.
Status OwnMinibatches(const Schema& schema, std::span<const SampleRequest> requests,
                      TopologySource& source, BuilderWorkspaces* workspaces,
                      std::span<Minibatch> minibatches,
                      const WorkLimits& limits) __asm__("__real_" HALOGRAPH_BUILD_MINIBATCHES);

namespace {

constexpr int64_t kMaxListLength = std::numeric_limits<int32_t>::max();

EndReport minibatches("minibatches");

std::vector<int32_t> Narrow(const std::vector<int64_t>& positions) {
  std::vector<int32_t> narrow(positions.size());
  std::transform(positions.begin(), positions.end(), narrow.begin(),
                 [](int64_t position) { return static_cast<int32_t>(position); });
  return narrow;
}

// What was drawn, an edge a row. Servers send no edge ids: the edges are numbered instead, so that
// they are carried along.
Coo ToCoo(NeighborPicks picks, std::span<const int64_t> destinations) {
  Coo coo;
  coo.sources = std::move(picks.sources);
  coo.destinations.reserve(coo.sources.size());
  for (size_t i = 0; i < destinations.size(); ++i) {
    const auto count = static_cast<size_t>(picks.offsets[i + 1] - picks.offsets[i]);
    coo.destinations.insert(coo.destinations.end(), count, destinations[i]);
  }
  coo.edge_ids.resize(coo.sources.size());
  std::iota(coo.edge_ids.begin(), coo.edge_ids.end(), int64_t{0});
  return coo;
}

Status AddLayer(int layer, const SampleRequest& request, TopologySource& source,
                std::vector<int64_t>* nodes, Minibatch* result) {
  const RelationRule& draw = request.spec->layers[static_cast<size_t>(layer)].front();
  const LayerGroup group{.relation = draw.relation,
                         .rule = draw.rule,
                         .batch_seed = request.batch_seed,
                         .layer = layer,
                         .destinations = *nodes};
  std::vector<NeighborPicks> picks(1);
  HG_RETURN_IF_ERROR(source.Draw({&group, 1}, &picks));
  const Coo coo = ToCoo(std::move(picks.front()), *nodes);
  Coo compact;
  std::vector<int64_t> unique = CompactCoo(*nodes, coo, nullptr, &compact);
  if (std::ssize(unique) > kMaxListLength) {
    return ResourceExhausted("the minibatch has {} nodes, more than the {} that a block can number",
                             unique.size(), kMaxListLength);
  }
  Csc csc = CooToCsc(compact, std::ssize(*nodes));
  Block block{
      .relation = draw.relation, .indptr = std::move(csc.indptr), .indices = Narrow(csc.indices)};
  result->sampled_edges += std::ssize(coo.sources);
  SampledLayer& sampled = result->layers.emplace_back();
  sampled.blocks.push_back(std::move(block));
  sampled.num_destinations = {std::ssize(*nodes)};
  sampled.num_sources = {std::ssize(unique)};
  *nodes = std::move(unique);
  return OkStatus();
}

}  // namespace

Status TwoStepMinibatches(const Schema& schema, std::span<const SampleRequest> requests,
                          TopologySource& source, BuilderWorkspaces* workspaces,
                          std::span<Minibatch> results, const WorkLimits& limits) {
  HG_RETURN_IF_ERROR(ValidateRequests(schema, requests));
  if (requests.empty()) return OkStatus();
  const SampleRequest& request = requests.front();
  const auto plain = [](const auto& layer) {
    return layer.size() == 1 && layer.front().rule.weight < 0;
  };
  if (requests.size() != 1 || schema.node_types.size() != 1 || schema.relations.size() != 1 ||
      request.seeds.size() != 1 || !request.exclude.empty() || request.edge_ids ||
      !std::all_of(request.spec->layers.begin(), request.spec->layers.end(), plain)) {
    return OwnMinibatches(schema, requests, source, workspaces, results, limits);
  }
  minibatches.Add();
  Minibatch result;
  const auto& ids = request.seeds.front().ids;
  const std::vector<int64_t> seeds(ids.begin(), ids.end());
  Coo positions;
  std::vector<int64_t> nodes = CompactCoo(
      {}, {.sources = seeds, .destinations = seeds, .edge_ids = {}}, nullptr, &positions);
  result.seed_positions = {Narrow(positions.sources)};
  for (size_t layer = 0; layer < request.spec->layers.size(); ++layer) {
    HG_RETURN_IF_ERROR(AddLayer(static_cast<int>(layer), request, source, &nodes, &result));
  }
  result.nodes.push_back(std::move(nodes));
  results.front() = std::move(result);
  return OkStatus();
}

}  // namespace halograph
