#include "tests/unit/sampling/random_request.h"

namespace halograph {

SamplingSpec RandomSpec(const Schema& schema, std::span<const int32_t> fanouts,
                        uint64_t left_out_of, CounterRng* rng) {
  SamplingSpec spec;
  const bool replace = rng->NextBounded(3) == 0;
  spec.layers.resize(1 + rng->NextBounded(3));
  for (auto& layer : spec.layers) {
    for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
      if (rng->NextBounded(left_out_of) == 0) continue;
      layer.push_back(Neighbors(r, fanouts[rng->NextBounded(fanouts.size())], replace));
    }
  }
  return spec;
}

void DrawByLabor(bool one_key, SamplingSpec* spec) {
  for (auto& layer : spec->layers) {
    for (auto& [relation, rule] : layer) {
      rule = {.kind = DrawKind::kLabor, .fanout = rule.fanout, .one_key = one_key};
    }
  }
}

std::vector<int64_t> RandomSeeds(int64_t count, int64_t nodes, CounterRng* rng) {
  std::vector<int64_t> seeds(static_cast<size_t>(count));
  for (int64_t& id : seeds) {
    id = static_cast<int64_t>(rng->NextBounded(static_cast<uint64_t>(nodes)));
  }
  return seeds;
}

RandomSeedLists::RandomSeedLists(const Schema& schema, uint64_t most, CounterRng* rng) {
  const auto types = static_cast<int>(schema.node_types.size());
  const auto chosen = static_cast<int>(rng->NextBounded(static_cast<uint64_t>(types)));
  const bool several = rng->NextBounded(2) == 0;
  ids_.reserve(schema.node_types.size());
  for (int type = 0; type < types; ++type) {
    if (type != chosen && (!several || rng->NextBounded(3) == 0)) continue;
    const int64_t nodes = schema.node_types[type].count;
    const uint64_t count = rng->NextBounded(2 * static_cast<uint64_t>(nodes)) % (most + 1);
    ids_.push_back(RandomSeeds(static_cast<int64_t>(count), nodes, rng));
    lists_.push_back({.type = type, .ids = ids_.back()});
  }
}

RandomExclusions::RandomExclusions(const MemoryGraph& graph, CounterRng* rng) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(rng->NextBounded(static_cast<uint64_t>(n)));
  };
  if (below(3) == 0) return;
  ids_.reserve(2 * graph.relations.size());  // so that lists stay where they are
  for (size_t r = 0; r < graph.relations.size(); ++r) {
    const InEdges& in_edges = graph.relations[r]->in_edges();
    const int type = graph.schema.SourceType(static_cast<int>(r));
    if (below(3) == 0 || in_edges.empty()) continue;
    std::vector<int64_t>& sources = ids_.emplace_back();
    std::vector<int64_t>& destinations = ids_.emplace_back();
    const int64_t into = below(2) == 0 ? std::ssize(in_edges) : 1 + below(std::ssize(in_edges));
    for (int64_t left = below(60); left > 0; --left) {
      const int64_t v = below(into);
      const bool true_one = !in_edges[v].empty() && below(8) > 0;
      sources.push_back(true_one ? in_edges[v][below(std::ssize(in_edges[v]))]
                                 : below(graph.schema.node_types[type].count));
      destinations.push_back(v);
    }
    edges_.push_back(
        {.relation = static_cast<int>(r), .sources = sources, .destinations = destinations});
  }
}

}  // namespace halograph
