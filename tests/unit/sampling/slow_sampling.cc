#include "tests/unit/sampling/slow_sampling.h"

#include <map>
#include <numeric>
#include <set>

#include "common/base/rng.h"

namespace halograph {

std::vector<int64_t> SlowPositions(int64_t degree, int32_t fanout, bool replace, uint64_t layer_key,
                                   int64_t v) {
  std::vector<int64_t> positions;
  if (fanout == -1 || (!replace && fanout >= degree)) {
    positions.resize(degree);
    std::iota(positions.begin(), positions.end(), 0);
    return positions;
  }
  if (degree == 0) return positions;
  CounterRng draws(SubKey(layer_key, static_cast<uint64_t>(v)));
  std::set<int64_t> taken;
  for (int64_t i = 0; i < fanout; ++i) {
    const int64_t last = replace ? degree - 1 : degree - fanout + i;
    auto position = static_cast<int64_t>(draws.NextBounded(static_cast<uint64_t>(last) + 1));
    if (!replace && taken.contains(position)) position = last;
    taken.insert(position);
    positions.push_back(position);
  }
  return positions;
}

namespace {

// Per node type, the list and where each id stands in it.
struct List {
  std::vector<int64_t> ids;
  std::map<int64_t, int32_t> positions;

  int32_t Add(int64_t id) {
    const auto [entry, added] = positions.emplace(id, static_cast<int32_t>(ids.size()));
    if (added) ids.push_back(id);
    return entry->second;
  }
};

using EdgeSet = std::set<std::pair<int64_t, int64_t>>;

EdgeSet ExcludedOf(const SampleRequest& request, int relation) {
  EdgeSet edges;
  for (const EdgeExclusion& exclusion : request.exclude) {
    if (exclusion.relation != relation) continue;
    for (size_t i = 0; i < exclusion.sources.size(); ++i) {
      edges.emplace(exclusion.sources[i], exclusion.destinations[i]);
    }
  }
  return edges;
}

int64_t EdgesBefore(const InEdges& in_edges, int64_t v) {
  int64_t edges = 0;
  for (int64_t before = 0; before < v; ++before) edges += std::ssize(in_edges[before]);
  return edges;
}

}  // namespace

Minibatch SlowMinibatch(const MemoryGraph& graph, const SampleRequest& request) {
  const Schema& schema = graph.schema;
  Minibatch result;
  std::vector<List> lists(schema.node_types.size());
  for (const auto& [type, ids] : request.seeds) {
    std::vector<int32_t>& positions = result.seed_positions.emplace_back();
    for (const int64_t seed : ids) positions.push_back(lists[type].Add(seed));
  }
  for (size_t l = 0; l < request.spec->layers.size(); ++l) {
    SampledLayer layer;
    std::vector<std::vector<int64_t>> destinations;
    for (const List& list : lists) {
      destinations.push_back(list.ids);
      layer.num_destinations.push_back(static_cast<int64_t>(list.ids.size()));
    }
    for (const auto& [relation, rule] : request.spec->layers[l]) {
      const uint64_t key = LayerKey(request.batch_seed, static_cast<int>(l),
                                    static_cast<int>(schema.relations.size()), relation);
      Block block{.relation = relation, .indptr = {0}, .indices = {}};
      const EdgeSet excluded = ExcludedOf(request, relation);
      for (const int64_t v : destinations[schema.DestinationType(relation)]) {
        const std::vector<int64_t>& in_edges = graph.relations[relation]->in_edges()[v];
        const int64_t first_edge = EdgesBefore(graph.relations[relation]->in_edges(), v);
        for (const int64_t position : SlowPositions(static_cast<int64_t>(in_edges.size()),
                                                    rule.fanout, rule.replace, key, v)) {
          if (excluded.contains({in_edges[position], v})) continue;
          if (request.edge_ids) block.edge_ids.push_back(first_edge + position);
          block.indices.push_back(lists[schema.SourceType(relation)].Add(in_edges[position]));
          ++result.sampled_edges;
        }
        block.indptr.push_back(static_cast<int64_t>(block.indices.size()));
      }
      layer.blocks.push_back(std::move(block));
    }
    for (const List& list : lists) {
      layer.num_sources.push_back(static_cast<int64_t>(list.ids.size()));
    }
    result.layers.push_back(std::move(layer));
  }
  for (List& list : lists) result.nodes.push_back(std::move(list.ids));
  return result;
}

}  // namespace halograph
