// The one-layer sampler: for each destination, which in-edges are drawn. The server's RPC, the
// embedded store and the tests call this same function. Thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/thread_pool.h"
#include "common/graph/topology.h"

namespace halograph {

// Drawn sources of a list of destinations: those of destination i are
// sources[offsets[i] .. offsets[i + 1]), in the order drawn.
struct NeighborPicks {
  std::vector<int64_t> offsets;  // destinations + 1
  std::vector<int64_t> sources;  // global ids

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(sources.size()); }
};

// Samples one layer of one relation by the contract. `layer_key`: LayerKey of the layer and
// relation. Requires a valid fanout, and every destination present in `topology` (callers
// validate: asserted only). The result does not depend on `pool`, which may be null.
// `picks` is overwritten; its memory is reused.
void SampleNeighbors(const RelationTopology& topology, std::span<const int64_t> destinations,
                     int32_t fanout, bool replace, uint64_t layer_key, ThreadPool* pool,
                     NeighborPicks* picks);

// How many edges SampleNeighbors would draw for `v`: what a server needs to bound its answer.
[[nodiscard]] int64_t CountPicks(const RelationTopology& topology, int64_t v, int32_t fanout,
                                 bool replace);

}  // namespace halograph
