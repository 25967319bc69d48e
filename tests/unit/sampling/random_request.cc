#include "tests/unit/sampling/random_request.h"

namespace halograph {

SamplingSpec RandomSpec(const Schema& schema, std::span<const int32_t> fanouts,
                        uint64_t left_out_of, CounterRng* rng) {
  SamplingSpec spec;
  spec.replace = rng->NextBounded(3) == 0;
  spec.layers.resize(1 + rng->NextBounded(3));
  for (auto& layer : spec.layers) {
    for (int r = 0; r < static_cast<int>(schema.relations.size()); ++r) {
      if (rng->NextBounded(left_out_of) == 0) continue;
      layer.push_back({.relation = r, .fanout = fanouts[rng->NextBounded(fanouts.size())]});
    }
  }
  return spec;
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

}  // namespace halograph
