// Two passes over the destinations: count and prefix sum, then draw into the exact place. The
// second works in groups and in place: an output slot holds the drawn position first, then the
// source id, so that the reads of a whole group are under way before the first is needed.
#include "common/sampling/kernel.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "common/base/rng.h"
#include "common/sampling/draws.h"
#include "common/sampling/request.h"

namespace halograph {
namespace {

constexpr int64_t kGrain = 512;       // destinations a task: some 10 us of work
constexpr int64_t kGroup = 16;        // destinations whose reads are in flight together
constexpr int64_t kCountAhead = 16;   // destinations that the counting pass prefetches ahead
constexpr int64_t kSequential = 256;  // longer runs of full neighbourhoods: hardware prefetches

// Where one destination's in-edges lie.
struct Row {
  const CscSegment* segment = nullptr;
  int64_t begin = 0;
  int64_t degree = 0;
};

Row Locate(const RelationTopology& topology, int64_t v) {
  const CscSegment& segment = topology.Owner(v);
  assert(segment.present());
  const int64_t local = v - segment.nodes.begin;
  return {&segment, segment.indptr[local], segment.indptr[local + 1] - segment.indptr[local]};
}

void PrefetchOffsets(const RelationTopology& topology, int64_t v) {
  const CscSegment& segment = topology.Owner(v);
  __builtin_prefetch(segment.indptr + (v - segment.nodes.begin));
}

template <typename IdT>
const IdT* Indices(const CscSegment& segment) {
  if constexpr (std::is_same_v<IdT, uint32_t>) {
    return segment.indices32;
  } else {
    return segment.indices64;
  }
}

// What the workers of one call share. IdT: width of the indices.
template <typename IdT, bool kReplace>
class LayerSampler {
 public:
  LayerSampler(const RelationTopology& topology, std::span<const int64_t> destinations,
               int32_t fanout, uint64_t layer_key, NeighborPicks* picks)
      : topology_(topology),
        destinations_(destinations),
        fanout_(fanout),
        layer_key_(layer_key),
        picks_(picks) {}

  // offsets[i + 1] = picks of destination i.
  void Count(int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
      if (i + kCountAhead < end) PrefetchOffsets(topology_, destinations_[i + kCountAhead]);
      const Row row = Locate(topology_, destinations_[i]);
      picks_->offsets[i + 1] = PicksOf(row.degree, fanout_, kReplace);
    }
  }

  // Requires the prefix sums and room for all picks.
  void Fill(int64_t begin, int64_t end) const {
    FloydDrawer floyd;
    std::array<Row, kGroup> rows;
    for (int64_t group = begin; group < end; group += kGroup) {
      const int64_t group_end = std::min(group + kGroup, end);
      for (int64_t i = group; i < group_end; ++i) rows[i - group] = DrawPositions(i, &floyd);
      for (int64_t i = group; i < group_end; ++i) LoadSources(rows[i - group], Slots(i));
    }
  }

 private:
  [[nodiscard]] std::span<int64_t> Slots(int64_t i) const {
    return {picks_->sources.data() + picks_->offsets[i],
            static_cast<size_t>(picks_->offsets[i + 1] - picks_->offsets[i])};
  }

  // Positions in the node's own list, and their lines on the way.
  Row DrawPositions(int64_t i, FloydDrawer* floyd) const {
    const int64_t v = destinations_[i];
    const Row row = Locate(topology_, v);
    const std::span<int64_t> slots = Slots(i);
    const auto picks = static_cast<int64_t>(slots.size());
    const IdT* const indices = Indices<IdT>(*row.segment) + row.begin;
    if (TakesAll(row.degree, fanout_, kReplace)) {
      for (int64_t p = 0; p < std::min(picks, kSequential); p += 64 / sizeof(IdT)) {
        __builtin_prefetch(indices + p);
      }
      return row;
    }
    const uint64_t node_key = SubKey(layer_key_, static_cast<uint64_t>(v));
    if constexpr (kReplace) {
      DrawWithReplacement(node_key, row.degree, slots);
    } else {
      floyd->Draw(node_key, row.degree, slots);
    }
    for (const int64_t position : slots) __builtin_prefetch(indices + position);
    return row;
  }

  void LoadSources(const Row& row, std::span<int64_t> slots) const {
    const IdT* const indices = Indices<IdT>(*row.segment) + row.begin;
    if (TakesAll(row.degree, fanout_, kReplace)) {
      std::copy_n(indices, slots.size(), slots.begin());
    } else {
      for (int64_t& slot : slots) slot = static_cast<int64_t>(indices[slot]);
    }
  }

  const RelationTopology& topology_;
  std::span<const int64_t> destinations_;
  int32_t fanout_;
  uint64_t layer_key_;
  NeighborPicks* picks_;
};

template <typename IdT, bool kReplace>
void Sample(const RelationTopology& topology, std::span<const int64_t> destinations, int32_t fanout,
            uint64_t layer_key, ThreadPool* pool, NeighborPicks* picks) {
  const auto count = static_cast<int64_t>(destinations.size());
  const LayerSampler<IdT, kReplace> sampler(topology, destinations, fanout, layer_key, picks);
  ParallelFor(pool, count, kGrain, [&](int64_t begin, int64_t end) { sampler.Count(begin, end); });
  for (int64_t i = 0; i < count; ++i) picks->offsets[i + 1] += picks->offsets[i];
  picks->sources.resize(static_cast<size_t>(picks->offsets[count]));
  ParallelFor(pool, count, kGrain, [&](int64_t begin, int64_t end) { sampler.Fill(begin, end); });
}

// All segments of a relation have one width; those without edges may have no indices at all.
bool HasWideIds(const RelationTopology& topology) {
  return std::any_of(topology.segments().begin(), topology.segments().end(),
                     [](const CscSegment& segment) { return segment.indices64 != nullptr; });
}

}  // namespace

void SampleNeighbors(const RelationTopology& topology, std::span<const int64_t> destinations,
                     int32_t fanout, bool replace, uint64_t layer_key, ThreadPool* pool,
                     NeighborPicks* picks) {
  assert(ValidateFanout(fanout).ok());
  picks->offsets.assign(destinations.size() + 1, 0);
  picks->sources.clear();
  if (fanout == 0) return;
  const bool wide = HasWideIds(topology);
  const auto sample = wide ? (replace ? Sample<int64_t, true> : Sample<int64_t, false>)
                           : (replace ? Sample<uint32_t, true> : Sample<uint32_t, false>);
  sample(topology, destinations, fanout, layer_key, pool, picks);
}

int64_t CountPicks(const RelationTopology& topology, int64_t v, int32_t fanout, bool replace) {
  return PicksOf(Locate(topology, v).degree, fanout, replace);
}

}  // namespace halograph
