// Loads that miss the cache are asked for some edges ahead, within a chunk: what makes a pass over
// arrays larger than the cache bound by memory's bandwidth instead of its latency.
#pragma once

#include <cstddef>

#include "partitioner/stream/edge_pass.h"

namespace halograph {

// First what the ends of an edge index; nearer, what those elements index.
inline constexpr size_t kFarAhead = 32;
inline constexpr size_t kNearAhead = 16;

// Asks for array[u] and array[v] of edge i, if there is such an edge.
template <typename T>
void PrefetchEnds(const UnionEdges& edges, size_t i, const T* array) {
  if (i >= edges.sources.size()) return;
  __builtin_prefetch(array + edges.sources[i], 1);
  __builtin_prefetch(array + edges.destinations[i], 1);
}

}  // namespace halograph
