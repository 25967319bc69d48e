// Prefetches what an edge some places ahead in a chunk will touch. So a pass over arrays larger
// than the cache is bound by memory bandwidth and not by its latency.
#pragma once

#include <cstddef>

#include "common/base/prefetch.h"
#include "partitioner/stream/edge_pass.h"

namespace halograph {

// First what the ends of an edge index; nearer, what those elements index.
inline constexpr size_t kFarAhead = 32;
inline constexpr size_t kNearAhead = 16;

// Calls ask(node) for both ends of edge i, if there is such an edge.
template <typename Ask>
void AskForEnds(const UnionEdges& edges, size_t i, const Ask& ask) {
  if (i >= edges.sources.size()) return;
  ask(edges.sources[i]);
  ask(edges.destinations[i]);
}

// Asks for array[u] and array[v] of edge i, if there is such an edge.
template <typename T>
void PrefetchEnds(const UnionEdges& edges, size_t i, const T* array) {
  AskForEnds(edges, i, [&](int64_t node) { PrefetchToWrite(array + node); });
}

}  // namespace halograph
