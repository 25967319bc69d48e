#include "tests/unit/sampling/slow_sampling.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "common/base/rng.h"
#include "common/sampling/layer_probability.h"
#include "common/sampling/layer_wise_draw.h"

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

std::vector<int64_t> SlowLabor(const std::vector<int64_t>& sources, int32_t fanout,
                               uint64_t layer_key) {
  std::vector<int64_t> positions;
  for (size_t p = 0; p < sources.size(); ++p) {
    const uint64_t number =
        Bounded(SubKey(layer_key, static_cast<uint64_t>(sources[p])), sources.size());
    const bool all = fanout < 0 || std::ssize(sources) <= fanout;
    if (all || static_cast<int64_t>(number) < fanout) positions.push_back(static_cast<int64_t>(p));
  }
  return positions;
}

// One destination of LABOR, whose edges are in the block since `begin`.
void AddSlowEstimate(const std::vector<int64_t>& in_edges, int64_t v, const DrawRule& rule,
                     const EdgeSet& excluded, Block* block) {
  const auto degree = std::ssize(in_edges);
  const bool all = rule.fanout < 0 || degree <= rule.fanout;
  block->coefficients.resize(
      block->indices.size(),
      all ? 1.0F : static_cast<float>(static_cast<double>(degree) / rule.fanout));
  const auto left_out = std::count_if(in_edges.begin(), in_edges.end(), [&](int64_t u) {
    return excluded.contains({u, v});
  });
  block->degrees.push_back(static_cast<float>(degree - left_out));
}

// What is drawn of a relation's sources for all `destinations`, with the factor of each.
std::map<int64_t, double> SlowColumns(const InEdges& in_edges, const DrawRule& rule,
                                      uint64_t layer_key, std::vector<int64_t> destinations,
                                      std::vector<int64_t>* picked) {
  const bool by_all = rule.kind == DrawKind::kFastGcn;
  const auto probability = by_all ? LayerProbability::kCount : rule.probability;
  if (by_all) {
    destinations.resize(in_edges.size());
    std::iota(destinations.begin(), destinations.end(), 0);
  }
  std::map<int64_t, uint64_t> sums;
  for (const int64_t v : destinations) {
    for (const int64_t u : in_edges[v]) {
      sums[u] +=
          probability == LayerProbability::kDegree ? DegreeShare(std::ssize(in_edges[v])) : 1;
    }
  }
  std::vector<int64_t> candidates;
  std::vector<uint64_t> weights;
  for (const auto& [u, sum] : sums) {
    candidates.push_back(u);
    weights.push_back(sum);
  }
  EXPECT_EQ(MakeWeights(probability, weights), OkStatus());
  CandidateSums of;
  of.Reset(std::span<const uint64_t>(weights));
  LayerWisePicks picks;
  const int64_t nodes = rule.fanout < 0 ? std::ssize(candidates) : rule.fanout;
  EXPECT_EQ(LayerWiseDrawer().Draw(of, nodes, ColumnKey(layer_key), &picks), OkStatus());
  std::map<int64_t, double> drawn;
  for (size_t i = 0; i < picks.positions.size(); ++i) {
    picked->push_back(candidates[picks.positions[i]]);
    drawn[picked->back()] = picks.weights[i];
  }
  return drawn;
}

// The edges of one destination from drawn sources.
void AddSlowColumns(const InEdges& in_edges, int64_t v, const std::map<int64_t, double>& drawn,
                    const EdgeSet& excluded, const DrawRule& rule, bool edge_ids, List* list,
                    Block* block) {
  auto degree = std::ssize(in_edges[v]);
  double sum = 0;
  const size_t begin = block->coefficients.size();
  for (size_t position = 0; position < in_edges[v].size(); ++position) {
    const int64_t u = in_edges[v][position];
    if (excluded.contains({u, v})) {
      --degree;
    } else if (drawn.contains(u)) {
      if (edge_ids)
        block->edge_ids.push_back(EdgesBefore(in_edges, v) + static_cast<int64_t>(position));
      block->indices.push_back(list->Add(u));
      block->coefficients.push_back(static_cast<float>(drawn.at(u)));
      sum += drawn.at(u);
    }
  }
  for (size_t e = begin; e < block->coefficients.size(); ++e) {
    if (rule.estimate == LayerEstimate::kUnbiased) continue;
    block->coefficients[e] =
        static_cast<float>(block->coefficients[e] * (static_cast<double>(degree) / sum));
  }
  block->degrees.push_back(static_cast<float>(degree));
}

Block SlowLayerWise(const MemoryGraph& graph, const SampleRequest& request, int relation,
                    const DrawRule& rule, uint64_t key, const std::vector<int64_t>& destinations,
                    std::vector<List>* lists) {
  const InEdges& in_edges = graph.relations[relation]->in_edges();
  const int source_type = graph.schema.SourceType(relation);
  List& sources = (*lists)[source_type];
  std::vector<int64_t> picked;
  const auto drawn = SlowColumns(in_edges, rule, key, destinations, &picked);
  for (const int64_t u : picked) sources.Add(u);
  Block block{.relation = relation, .indptr = {0}, .indices = {}};
  const EdgeSet excluded = ExcludedOf(request, relation);
  for (const int64_t v : destinations) {
    AddSlowColumns(in_edges, v, drawn, excluded, rule, request.edge_ids, &sources, &block);
    block.indptr.push_back(std::ssize(block.indices));
  }
  if (request.source_degrees && source_type == graph.schema.DestinationType(relation)) {
    block.degrees.resize(sources.ids.size());
    for (const int64_t u : picked) {
      const auto position = static_cast<size_t>(sources.positions.at(u));
      if (position < destinations.size()) continue;
      block.degrees[position] = static_cast<float>(in_edges[u].size());
    }
  }
  return block;
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
      const uint64_t key = LayerKey(request.batch_seed, rule.one_key ? 0 : static_cast<int>(l),
                                    static_cast<int>(schema.relations.size()), relation);
      const bool labor = rule.kind == DrawKind::kLabor;
      if (!IsNodeWise(rule.kind) && !rule.nothing()) {
        layer.blocks.push_back(SlowLayerWise(graph, request, relation, rule, key,
                                             destinations[schema.DestinationType(relation)],
                                             &lists));
        result.sampled_edges += std::ssize(layer.blocks.back().indices);
        continue;
      }
      Block block{.relation = relation, .indptr = {0}, .indices = {}};
      const EdgeSet excluded = ExcludedOf(request, relation);
      for (const int64_t v : destinations[schema.DestinationType(relation)]) {
        const std::vector<int64_t>& in_edges = graph.relations[relation]->in_edges()[v];
        const int64_t first_edge = EdgesBefore(graph.relations[relation]->in_edges(), v);
        for (const int64_t position : labor ? SlowLabor(in_edges, rule.fanout, key)
                                            : SlowPositions(static_cast<int64_t>(in_edges.size()),
                                                            rule.fanout, rule.replace, key, v)) {
          if (excluded.contains({in_edges[position], v})) continue;
          if (request.edge_ids) block.edge_ids.push_back(first_edge + position);
          block.indices.push_back(lists[schema.SourceType(relation)].Add(in_edges[position]));
          ++result.sampled_edges;
        }
        block.indptr.push_back(static_cast<int64_t>(block.indices.size()));
        if (labor && rule.fanout != 0) AddSlowEstimate(in_edges, v, rule, excluded, &block);
      }
      layer.blocks.push_back(std::move(block));
    }
    for (const List& list : lists) {
      layer.num_sources.push_back(static_cast<int64_t>(list.ids.size()));
    }
    for (size_t b = 0; b < layer.blocks.size(); ++b) {  // others may have drawn more of the type
      const auto& [relation, rule] = request.spec->layers[l][b];
      const int type = schema.SourceType(relation);
      if (request.source_degrees && rule.kind == DrawKind::kLabor && !rule.nothing() &&
          type == schema.DestinationType(relation)) {
        for (int64_t i = layer.num_destinations[type]; i < layer.num_sources[type]; ++i) {
          const int64_t u = lists[type].ids[i];
          layer.blocks[b].degrees.push_back(
              static_cast<float>(graph.relations[relation]->in_edges()[u].size()));
        }
      }
      if (request.source_degrees && !IsNodeWise(rule.kind) && !rule.nothing() &&
          type == schema.DestinationType(relation)) {
        layer.blocks[b].degrees.resize(layer.num_sources[type]);
      }
    }
    result.layers.push_back(std::move(layer));
  }
  for (List& list : lists) result.nodes.push_back(std::move(list.ids));
  return result;
}

}  // namespace halograph
