#include "partitioner/methods/stream_metis/neighbour_counts.h"

#include <algorithm>

#include "common/base/prefetch.h"
#include "partitioner/stream/ahead.h"

namespace halograph {

StatusOr<NeighbourCounts> NeighbourCounts::Make(const Degrees& degrees, int parts,
                                                int64_t max_nodes, uint64_t key) {
  NeighbourCounts counts(degrees, parts, key);
  HG_ASSIGN_OR_RETURN(counts.counts_,
                      NodeArray<uint8_t>::Make(max_nodes * parts, "neighbours per partition"));
  return counts;
}

void NeighbourCounts::Add(int64_t node, int64_t neighbour, uint16_t owner) {
  const uint32_t degree = degrees_->of[node].total;
  if (degree >= kManyNeighbours) {
    const uint64_t mask = (uint64_t{1} << Shift(degree)) - 1;
    if ((Mix(key_ ^ static_cast<uint64_t>(neighbour)) & mask) != 0) return;
  }
  uint8_t& count = counts_[(node - range_.begin) * parts_ + owner];
  count = static_cast<uint8_t>(count + (count < 255 ? 1 : 0));
}

template <typename Wanted>
int64_t NeighbourCounts::CountChunk(const UnionEdges& edges, const uint16_t* owners,
                                    Wanted wanted) {
  const size_t size = edges.sources.size();
  const auto ask = [&](int64_t node) {
    if (!wanted(node)) return;
    PrefetchToWrite(Of(node));
    PrefetchToRead(&degrees_->of[node]);
  };
  int64_t cut = 0;
  for (size_t i = 0; i < size; ++i) {
    PrefetchEnds(edges, i + kFarAhead, owners);
    AskForEnds(edges, i + kNearAhead, ask);
    const int64_t u = edges.sources[i];
    const int64_t v = edges.destinations[i];
    if (u == v) continue;
    cut += owners[u] != owners[v] ? 1 : 0;
    if (wanted(u)) Add(u, v, owners[v]);
    if (wanted(v)) Add(v, u, owners[u]);
  }
  return cut;
}

StatusOr<int64_t> NeighbourCounts::Count(const Dataset& dataset, std::span<const uint16_t> owners,
                                         IdRange range, const HashedHalf* half) {
  range_ = range;
  std::fill_n(counts_.data(), range.size() * parts_, uint8_t{0});
  int64_t cut = 0;
  const auto count_chunk = [&](const UnionEdges& edges) {
    const auto in_range = [&](int64_t node) {  // one comparison: ids below `begin` wrap
      return static_cast<uint64_t>(node - range.begin) < static_cast<uint64_t>(range.size());
    };
    const auto in_half = [&](int64_t node) { return in_range(node) && half->Has(node); };
    cut += half == nullptr ? CountChunk(edges, owners.data(), in_range)
                           : CountChunk(edges, owners.data(), in_half);
    return OkStatus();
  };
  HG_RETURN_IF_ERROR(RepeatUnionEdges(dataset, "refinement", degrees_->edges, count_chunk));
  return cut;
}

}  // namespace halograph
