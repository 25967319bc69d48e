#include "common/sampling/kernel/one_layer.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "common/base/prefetch.h"
#include "common/base/rng.h"
#include "common/sampling/kernel/chunks.h"
#include "common/sampling/kernel/layer.h"
#include "common/sampling/kernel/rows.h"
#include "common/sampling/request.h"

namespace halograph {
namespace {

template <typename T>
void Append(const std::vector<T>& more, std::vector<T>* all) {
  all->insert(all->end(), more.begin(), more.end());
}

// All but the degrees.
FusedOutcome SampleEdges(const LayerDraws& draws, std::span<const int64_t> destinations,
                         ThreadPool* pool, NeighborPicks* picks) {
  FusedRoom room;
  const int64_t count = std::ssize(destinations);
  const int64_t each = ChunkDestinations(draws.rule().fanout);
  if (pool == nullptr || count <= each) {
    return SampleFusedSources(draws, destinations, &room, picks);
  }
  picks->offsets.assign(1, 0);
  picks->sources.clear();
  picks->edge_ids.clear();
  picks->weights.clear();
  ChunkCrew crew(pool, &room);
  std::vector<NeighborPicks> slots(crew.slots());
  const auto sample = [&](int64_t chunk, size_t slot, FusedRoom* of_thread) {
    const int64_t begin = chunk * each;
    const int64_t size = std::min(each, count - begin);
    return SampleFusedSources(
        draws, destinations.subspan(static_cast<size_t>(begin), static_cast<size_t>(size)),
        of_thread, &slots[slot]);
  };
  const auto take = [&](int64_t, size_t slot) {
    const NeighborPicks& of_chunk = slots[slot];
    const int64_t before = picks->size();
    for (size_t i = 1; i < of_chunk.offsets.size(); ++i) {
      picks->offsets.push_back(before + of_chunk.offsets[i]);
    }
    Append(of_chunk.sources, &picks->sources);
    Append(of_chunk.edge_ids, &picks->edge_ids);
    Append(of_chunk.weights, &picks->weights);
    return FusedOutcome();
  };
  return crew.Run((count - 1) / each + 1, sample, take).outcome;
}

}  // namespace

FusedOutcome GetInDegrees(const RelationTopology& topology, std::span<const int64_t> destinations,
                          std::vector<int64_t>* degrees) {
  constexpr size_t kOffsetsAhead = 16;  // offsets asked for ahead
  degrees->resize(destinations.size());
  for (size_t i = 0; i < destinations.size(); ++i) {
    if (i + kOffsetsAhead < destinations.size()) {
      const int64_t ahead = destinations[i + kOffsetsAhead];
      const CscSegment& segment = topology.Owner(ahead);
      PrefetchToRead(segment.indptr + (ahead - segment.nodes.begin));
    }
    const PickRow row = FindPickRow(topology, destinations[i]);
    if (row.degree < 0) {
      return {.kind = FusedOutcome::Kind::kDamagedOffsets, .id = destinations[i]};
    }
    (*degrees)[i] = row.degree;
  }
  return {};
}

FusedOutcome SampleNeighbors(const LayerDraws& draws, std::span<const int64_t> destinations,
                             ThreadPool* pool, NeighborPicks* picks) {
  assert(ValidateFanout(draws.rule().fanout).ok());
  picks->degrees.clear();
  const FusedOutcome outcome = SampleEdges(draws, destinations, pool, picks);
  if (!outcome.done() || !draws.degrees) return outcome;
  return GetInDegrees(*draws.topology, destinations, &picks->degrees);
}

FusedOutcome SampleNeighborRange(const LayerDraws& draws, int64_t v, int64_t first, int64_t count,
                                 NeighborPicks* picks) {
  picks->offsets.assign(1, 0);
  picks->sources.clear();
  picks->edge_ids.clear();
  picks->weights.clear();
  picks->degrees.clear();
  const PickRow row = FindPickRow(*draws.topology, v);
  if (row.degree < 0) return {.kind = FusedOutcome::Kind::kDamagedOffsets, .id = v};
  if (draws.degrees) picks->degrees.push_back(row.degree);
  PickScratch scratch;
  const bool every = draws.drawer->TakesAll(row);
  if (!every) {
    draws.drawer->Draw(SubKey(draws.layer_key, static_cast<uint64_t>(v)), row, &scratch);
  }
  const int64_t drawn = every ? row.degree : std::ssize(scratch.positions);
  assert(first >= 0 && count >= 0 && first + count <= drawn);
  const CscSegment& segment = draws.topology->segments()[static_cast<size_t>(row.segment)];
  for (int64_t i = first; i < std::min(first + count, drawn); ++i) {
    const int64_t of_row = every ? i : scratch.positions[static_cast<size_t>(i)];
    if (of_row < 0 || of_row >= row.degree) {
      return {.kind = FusedOutcome::Kind::kDamagedDrawer, .id = v};
    }
    const int64_t position = row.begin + of_row;
    picks->sources.push_back(segment.Source(position));
    if (draws.edge_ids) picks->edge_ids.push_back(segment.first_edge + position);
    if (draws.weights >= 0) {
      picks->weights.push_back(
          static_cast<float>(segment.weights[draws.weights].weights[position]));
    }
  }
  picks->offsets.push_back(picks->size());
  return {};
}

int64_t CountPicks(const LayerDraws& draws, int64_t v) {
  const PickRow row = FindPickRow(*draws.topology, v);
  if (row.degree < 0) return -1;
  return draws.drawer->Count(row);
}

}  // namespace halograph
