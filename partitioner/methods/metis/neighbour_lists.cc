#include "partitioner/methods/metis/neighbour_lists.h"

#include <limits>
#include <utility>

#include "common/base/prefetch.h"
#include "partitioner/stream/ahead.h"

namespace halograph {
namespace {

constexpr int32_t kMaxInDegree = std::numeric_limits<int32_t>::max();
// Loads that miss the cache are asked for this many edges ahead: where a list goes on; then, at
// half the distance, that place itself.
constexpr size_t kAhead = 24;

}  // namespace

StatusOr<EntryCounts> CountEntries(const Dataset& dataset, const std::string& phase,
                                   std::span<int32_t> in_degrees, std::span<int64_t> starts) {
  EntryCounts counts;
  HG_RETURN_IF_ERROR(ForEachUnionEdges(dataset, phase, [&](const UnionEdges& edges) {
    for (size_t i = 0; i < edges.sources.size(); ++i) {
      PrefetchEnds(edges, i + kAhead, starts.data());
      PrefetchEnds(edges, i + kAhead, in_degrees.data());
      const auto u = static_cast<size_t>(edges.sources[i]);
      const auto v = static_cast<size_t>(edges.destinations[i]);
      in_degrees[v] += in_degrees[v] < kMaxInDegree ? 1 : 0;
      if (u == v) continue;
      ++starts[u];
      ++starts[v];
    }
    counts.edges += static_cast<int64_t>(edges.sources.size());
    return OkStatus();
  }));
  for (int64_t& start : starts) counts.entries += std::exchange(start, counts.entries);
  return counts;
}

bool ScatterEntries(const UnionEdges& edges, int64_t end, int64_t* next, uint32_t* entries) {
  const auto append = [&](int64_t node, uint32_t entry) {
    const int64_t place = next[node]++;
    if (place >= end) return false;
    entries[place] = entry;
    return true;
  };
  for (size_t i = 0; i < edges.sources.size(); ++i) {
    PrefetchEnds(edges, i + kAhead, next);
    AskForEnds(edges, i + kAhead / 2, [&](int64_t node) { PrefetchToWrite(entries + next[node]); });
    const int64_t u = edges.sources[i];
    const int64_t v = edges.destinations[i];
    if (u == v) continue;
    if (!append(u, NeighbourEntry(v, false)) || !append(v, NeighbourEntry(u, true))) return false;
  }
  return true;
}

int32_t RepeatedInEdges(const uint32_t* begin, const uint32_t* end) {
  int32_t repeated = 0;
  for (const uint32_t* entry = begin; entry + 1 < end; ++entry) {
    repeated += entry[0] == entry[1] && (entry[0] & 1) != 0 ? 1 : 0;
  }
  return repeated;
}

}  // namespace halograph
