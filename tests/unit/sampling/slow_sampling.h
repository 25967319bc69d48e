// The sampling contract in the plainest C++: one destination and one edge at a time, sets and maps,
// no groups, no threads. What the kernel and the builder are held against on random graphs.
#pragma once

#include <cstdint>
#include <vector>

#include "common/sampling/minibatch.h"
#include "common/sampling/request.h"
#include "tests/unit/sampling/memory_graph.h"

namespace halograph {

// Positions in a list of `degree` in-edges of destination `v`, in the order drawn.
[[nodiscard]] std::vector<int64_t> SlowPositions(int64_t degree, int32_t fanout, bool replace,
                                                 uint64_t layer_key, int64_t v);

// Of uniform draws, LABOR's and layer-wise ones.
[[nodiscard]] Minibatch SlowMinibatch(const MemoryGraph& graph, const SampleRequest& request);

}  // namespace halograph
