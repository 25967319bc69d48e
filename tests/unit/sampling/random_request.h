// What to sample, drawn: layers, fanouts and seeds for tests that try many.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/rng.h"
#include "common/graph/schema.h"
#include "common/sampling/request.h"
#include "tests/unit/sampling/memory_graph.h"

namespace halograph {

// One to three layers, a fanout of `fanouts` for each relation but one in `left_out_of`, which the
// layer leaves out; in a third of the cases with replacement.
[[nodiscard]] SamplingSpec RandomSpec(const Schema& schema, std::span<const int32_t> fanouts,
                                      uint64_t left_out_of, CounterRng* rng);

// LABOR in place of what a spec draws, by one key or by one a layer.
void DrawByLabor(bool one_key, SamplingSpec* spec);

// Of 0 .. nodes - 1, any of them several times.
[[nodiscard]] std::vector<int64_t> RandomSeeds(int64_t count, int64_t nodes, CounterRng* rng);

// Seeds of one type, or of several: up to twice as many as there are nodes, and never more than
// `most` a type. Owns the ids that its lists point to; not copyable.
class RandomSeedLists {
 public:
  RandomSeedLists(const Schema& schema, uint64_t most, CounterRng* rng);
  RandomSeedLists(const RandomSeedLists&) = delete;
  RandomSeedLists& operator=(const RandomSeedLists&) = delete;

  [[nodiscard]] const std::vector<SeedList>& lists() const { return lists_; }

 private:
  std::vector<std::vector<int64_t>> ids_;
  std::vector<SeedList> lists_;
};

// Edges to leave out of some relations: true ones, into any nodes or into the first few, some
// twice, and pairs that are no edges. In a third of the cases none. Owns them; not copyable.
class RandomExclusions {
 public:
  RandomExclusions(const MemoryGraph& graph, CounterRng* rng);
  RandomExclusions(const RandomExclusions&) = delete;
  RandomExclusions& operator=(const RandomExclusions&) = delete;

  [[nodiscard]] const std::vector<EdgeExclusion>& edges() const { return edges_; }

 private:
  std::vector<std::vector<int64_t>> ids_;
  std::vector<EdgeExclusion> edges_;
};

}  // namespace halograph
