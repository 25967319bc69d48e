// Compiled once for each instruction set and chosen when first called (Highway).
#include "common/sampling/kernel/layer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <numeric>

#include "common/base/rng.h"
#include "common/sampling/kernel/rows.h"
#include "common/sampling/kernel/stream.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/sampling/kernel/layer.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "common/sampling/kernel/simd_draws-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t kGroup = 8;       // destinations drawn between two pumps of the stream
constexpr int64_t kRowsAhead = 16;  // destinations whose offsets are asked for ahead
constexpr int64_t kPiece = 256;     // of many picks, what is pushed at once

// Destinations of a run: a list that may move while it grows, or an array.
class Destinations {
 public:
  // Those of the list from `first` on, up to `end`.
  Destinations(const FusedNodes* list, int64_t first, int64_t end)
      : list_(list), first_(first), size_(end - first) {}
  explicit Destinations(std::span<const int64_t> ids) : ids_(ids.data()), size_(std::ssize(ids)) {}

  // To be read anew after each step of the stream.
  [[nodiscard]] const int64_t* data() const {
    return list_ != nullptr ? list_->ids.data() + first_ : ids_;
  }
  [[nodiscard]] int64_t size() const { return size_; }

 private:
  const FusedNodes* list_ = nullptr;
  const int64_t* ids_ = nullptr;
  int64_t first_ = 0;
  int64_t size_;
};

template <typename IdT, typename Sink>
class LayerRun {
 public:
  // Sets indptr[i + 1] for destination i; `before`: edges before those of the first.
  LayerRun(const LayerDraws& draws, const Destinations& destinations, FusedRoom* room, Sink sink,
           int64_t* indptr, int64_t before)
      : draws_(draws),
        rule_(draws.rule()),
        destinations_(destinations),
        scratch_(&room->picks),
        rows_(*draws.topology),
        indptr_(indptr),
        stream_(&room->stage, sink, before) {}

  [[nodiscard]] HWY_ATTR FusedOutcome Run() {
    if (!RunWith()) return damage_.done() ? stream_.outcome() : damage_;
    if (rows_.damaged() >= 0) {
      return {.kind = FusedOutcome::Kind::kDamagedOffsets, .id = rows_.damaged()};
    }
    return {};
  }

 private:
  // False if it stopped early.
  [[nodiscard]] HWY_ATTR bool RunWith() {
    if (!draws_.drawer->uniform()) return Groups<&LayerRun::DrawOtherwise>();
    if (rule_.fanout == kFullNeighborhood || rule_.fanout > kScanPicks) {
      return Groups<&LayerRun::DrawMany>();
    }
    return rule_.fanout <= kSimdPicks ? DrawAllSimd() : Groups<&LayerRun::DrawFew>();
  }

  // kDraw draws for the destinations [begin, end), at most kGroup.
  template <bool (LayerRun::*kDraw)(int64_t begin, int64_t end)>
  [[nodiscard]] HWY_ATTR bool Groups() {
    for (int64_t group = 0; group < destinations_.size(); group += kGroup) {
      const int64_t end = std::min(group + kGroup, destinations_.size());
      const int64_t* const nodes = destinations_.data();
      const int64_t ahead_end = std::min(end + kRowsAhead, destinations_.size());
      for (int64_t i = group + kRowsAhead; i < ahead_end; ++i) rows_.Prefetch(nodes[i]);
      if (!(this->*kDraw)(group, end)) return false;
    }
    return stream_.Finish();
  }

  // Up to kScanPicks picks a destination.
  [[nodiscard]] bool DrawFew(int64_t group, int64_t end) {
    const int64_t* const nodes = destinations_.data();
    for (int64_t i = group; i < end; ++i) {
      const FusedRow row = rows_.Find(nodes[i]);
      stream_.Push(DrawAddresses(NodeKey(nodes[i]), row, stream_.tail()));
      indptr_[i + 1] = stream_.total();
    }
    return stream_.Pump();
  }

  // Up to kSimdPicks a destination: the loop that most sampling is spent in. It pumps after each
  // destination, so that the processor, which looks some ten edges ahead, always finds reads of
  // memory to start beside the arithmetic of draws.
  [[nodiscard]] HWY_ATTR bool DrawAllSimd() {
#if HALOGRAPH_SIMD_DRAWS
    const SimdDraws<IdT> draws(rule_.fanout, rule_.replace);
    const int64_t size = destinations_.size();
    // In locals, which no write to memory can change.
    FusedStream<IdT, Sink> stream = stream_;
    FusedRows<IdT> rows = rows_;
    int64_t* const indptr = indptr_ + 1;
    std::array<int64_t, kGroup> nodes;
    std::array<int64_t, kGroup> ahead;
    std::array<uint64_t, kGroup> keys;
    bool more = true;
    for (int64_t group = 0; more && group < size; group += kGroup) {
      CopyGroup(group, nodes.data());
      CopyGroup(group + kRowsAhead, ahead.data());
      NodeKeys(draws_.layer_key, nodes.data(), keys.data());
      const int64_t count = std::min(kGroup, size - group);
      for (int64_t i = 0; more && i < count; ++i) {
        rows.Prefetch(ahead[i]);
        const FusedRow row = rows.Find(nodes[i]);
        stream.Push(HWY_LIKELY(row.degree < kSimdDegree)
                        ? draws.Draw(keys[i], row, stream.tail())
                        : DrawAddresses(keys[i], row, stream.tail()));
        indptr[group + i] = stream.total();
        more = stream.Pump();
      }
    }
    more = more && stream.Finish();
    stream_ = stream;
    rows_.AddDamage(rows);
    return more;
#else
    return Groups<&LayerRun::DrawFew>();
#endif
  }

  // kGroup destinations from `first` on; beyond the last, any one of them.
  HWY_INLINE void CopyGroup(int64_t first, int64_t* nodes) const {
    const int64_t* const all = destinations_.data();
    if (HWY_LIKELY(first + kGroup <= destinations_.size())) {
      std::copy(all + first, all + first + kGroup, nodes);
    } else {
      for (int64_t i = 0; i < kGroup; ++i)
        nodes[i] = all[std::min(first + i, destinations_.size() - 1)];
    }
  }

  // Any number of picks.
  [[nodiscard]] bool DrawMany(int64_t group, int64_t end) {
    for (int64_t i = group; i < end; ++i) {
      const int64_t v = destinations_.data()[i];
      const FusedRow row = rows_.Find(v);
      const int64_t count = PicksOf(row.degree, rule_.fanout, rule_.replace);
      if (TakesAll(row.degree, rule_.fanout, rule_.replace)) {
        if (!PushPieces(row, count, [](int64_t p) { return p; })) return false;
      } else {
        scratch_->positions.resize(static_cast<size_t>(count));
        Draw(NodeKey(v), row.degree, scratch_->positions);
        if (!PushPositions(row)) return false;
      }
      indptr_[i + 1] = stream_.total();
    }
    return true;
  }

  [[nodiscard]] bool DrawOtherwise(int64_t group, int64_t end) {
    std::array<PickRow, kGroup> rows;
    std::array<uint64_t, kGroup> keys;
    for (int64_t i = group; i < end; ++i) {
      const int64_t v = destinations_.data()[i];
      rows[i - group] = FindPickRow(*draws_.topology, v);
      keys[i - group] = NodeKey(v);
      if (rows[i - group].degree < 0) return Stop(FusedOutcome::Kind::kDamagedOffsets, v);
    }
    const auto count = static_cast<size_t>(end - group);
    draws_.drawer->Expect(std::span(rows).first(count), std::span(keys).first(count));
    for (int64_t i = group; i < end; ++i) {
      const PickRow& row = rows[i - group];
      draws_.drawer->Draw(keys[i - group], row, scratch_);
      for (const int64_t position : scratch_->positions) {
        if (static_cast<uint64_t>(position) >= static_cast<uint64_t>(row.degree)) {
          return Stop(FusedOutcome::Kind::kDamagedDrawer, destinations_.data()[i]);
        }
      }
      if (!PushPositions(rows_.Whole(row))) return false;
      indptr_[i + 1] = stream_.total();
    }
    return true;
  }

  [[nodiscard]] bool Stop(FusedOutcome::Kind kind, int64_t v) {
    damage_ = {.kind = kind, .id = v};
    return false;
  }

  [[nodiscard]] bool PushPositions(const FusedRow& row) {
    const int64_t* const positions = scratch_->positions.data();
    return PushPieces(row, std::ssize(scratch_->positions),
                      [positions](int64_t p) { return positions[p]; });
  }

  // `count` picks, the p-th at position_of(p).
  template <typename PositionOf>
  [[nodiscard]] bool PushPieces(const FusedRow& row, int64_t count, PositionOf position_of) {
    for (int64_t piece = 0; piece < count; piece += kPiece) {
      const int64_t size = std::min(kPiece, count - piece);
      uint64_t* const addresses = stream_.tail();
      for (int64_t p = 0; p < size; ++p) addresses[p] = AddressOf(row, position_of(piece + p));
      stream_.Push(size);
      if (!stream_.Pump()) return false;
    }
    return true;
  }

  // Writes the addresses of one destination's picks, at most kScanPicks.
  int64_t DrawAddresses(uint64_t node_key, const FusedRow& row, uint64_t* addresses) {
    const int64_t count = PicksOf(row.degree, rule_.fanout, rule_.replace);
    std::array<int64_t, kScanPicks> positions;
    Draw(node_key, row.degree, std::span(positions).first(static_cast<size_t>(count)));
    for (int64_t i = 0; i < count; ++i) addresses[i] = AddressOf(row, positions[i]);
    return count;
  }

  void Draw(uint64_t node_key, int64_t degree, std::span<int64_t> positions) {
    if (TakesAll(degree, rule_.fanout, rule_.replace)) {
      std::iota(positions.begin(), positions.end(), 0);
    } else if (rule_.replace) {
      DrawWithReplacement(node_key, degree, positions);
    } else {
      scratch_->floyd.Draw(node_key, degree, positions);
    }
  }

  [[nodiscard]] uint64_t NodeKey(int64_t v) const {
    return SubKey(draws_.layer_key, static_cast<uint64_t>(v));
  }
  static uint64_t AddressOf(const FusedRow& row, int64_t position) {
    return row.address + static_cast<uint64_t>(position) * sizeof(IdT);
  }

  const LayerDraws& draws_;
  const DrawRule rule_;
  const Destinations destinations_;
  PickScratch* scratch_;
  FusedRows<IdT> rows_;
  int64_t* indptr_;
  FusedStream<IdT, Sink> stream_;
  FusedOutcome damage_;
};

// Null if nothing but sources is asked for.
template <typename IdT>
std::unique_ptr<const FusedEdges<IdT>> EdgesOf(const LayerDraws& draws) {
  const bool asked = draws.edge_ids || draws.weights >= 0;
  return asked ? std::make_unique<const FusedEdges<IdT>>(draws) : nullptr;
}

template <typename IdT>
FusedOutcome RunCompacting(int64_t first, const FusedLayerTask& task, FusedWorkspace* workspace,
                           Block* block) {
  FusedNodes* const sources = &workspace->nodes[task.source_type];
  const Destinations destinations(&workspace->nodes[task.destination_type], first,
                                  task.num_destinations);
  const auto run = [&](auto sink) {
    return LayerRun<IdT, decltype(sink)>(task.draws, destinations, &workspace->room, sink,
                                         block->indptr.data() + first, block->indptr[first])
        .Run();
  };
  FusedPositions* const positions = &workspace->room.positions;
  const auto edges = EdgesOf<IdT>(task.draws);
  if (std::holds_alternative<DirectIdMap>(sources->map)) {
    return run(CompactingSink<IdT, DirectIdMap>(positions, sources, edges.get(), block));
  }
  return run(CompactingSink<IdT, HashIdMap>(positions, sources, edges.get(), block));
}

template <typename IdT, typename OutT>
FusedOutcome RunCollecting(const LayerDraws& draws, std::span<const int64_t> destinations,
                           FusedRoom* room, int64_t* indptr, const CollectedEdges<OutT>& out) {
  using Sink = CollectingSink<IdT, OutT>;
  const auto edges = EdgesOf<IdT>(draws);
  return LayerRun<IdT, Sink>(draws, Destinations(destinations), room, Sink(out, edges.get()),
                             indptr, 0)
      .Run();
}

FusedOutcome CompactLayer(int64_t first, const FusedLayerTask& task, FusedWorkspace* workspace,
                          Block* block) {
  return task.draws.topology->HasWideIds() ? RunCompacting<int64_t>(first, task, workspace, block)
                                           : RunCompacting<uint32_t>(first, task, workspace, block);
}

// Into `narrow` if the ids are and it has room for sources.
FusedOutcome CollectLayer(const LayerDraws& draws, std::span<const int64_t> destinations,
                          FusedRoom* room, int64_t* indptr, const CollectedEdges<uint32_t>& narrow,
                          const CollectedEdges<int64_t>& wide) {
  if (draws.topology->HasWideIds()) {
    return RunCollecting<int64_t>(draws, destinations, room, indptr, wide);
  }
  if (narrow.sources == nullptr) {
    return RunCollecting<uint32_t>(draws, destinations, room, indptr, wide);
  }
  return RunCollecting<uint32_t>(draws, destinations, room, indptr, narrow);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {
namespace {

HWY_EXPORT(CompactLayer);
HWY_EXPORT(CollectLayer);

constexpr int64_t kExpectedDegree = 8;  // for a first room only
// Edges that there is room for before they are known.
constexpr int64_t kReserveCompacted = 1 << 22;
constexpr int64_t kReserveCollected = 1 << 15;

// Room for what is most likely: untouched room costs nothing, growing costs a copy.
size_t ExpectedEdges(int64_t destinations, int32_t fanout, int64_t most) {
  const int64_t each = fanout == kFullNeighborhood ? kExpectedDegree : fanout;
  return static_cast<size_t>(std::min(std::min(destinations, most) * each, most));
}

}  // namespace

FusedOutcome SampleFusedLayer(const FusedLayerTask& task, FusedWorkspace* workspace, Block* block) {
  assert(task.excluded.empty());
  block->indices.clear();
  block->edge_ids.clear();
  block->weights.clear();
  block->coefficients.clear();
  block->degrees.clear();
  block->indptr.assign(1, 0);
  return SampleFusedLayerFrom(0, task, workspace, block);
}

FusedOutcome SampleFusedLayerFrom(int64_t first, const FusedLayerTask& task,
                                  FusedWorkspace* workspace, Block* block) {
  assert(std::ssize(block->indptr) == first + 1);
  block->indptr.resize(static_cast<size_t>(task.num_destinations) + 1, block->indptr.back());
  if (task.num_destinations == first || task.draws.rule().nothing()) return {};
  block->indices.reserve(
      ExpectedEdges(task.num_destinations, task.draws.rule().fanout, kReserveCompacted));
  return HWY_DYNAMIC_DISPATCH(CompactLayer)(first, task, workspace, block);
}

FusedOutcome SampleFusedSources(const LayerDraws& draws, std::span<const int64_t> destinations,
                                FusedRoom* room, int64_t* indptr, FusedSources* sources) {
  sources->narrow.clear();
  sources->wide.clear();
  sources->edge_ids.clear();
  sources->weights.clear();
  if (destinations.empty() || draws.rule().nothing()) return {};
  return HWY_DYNAMIC_DISPATCH(CollectLayer)(
      draws, destinations, room, indptr, {&sources->narrow, &sources->edge_ids, &sources->weights},
      {&sources->wide, &sources->edge_ids, &sources->weights});
}

FusedOutcome SampleFusedSources(const LayerDraws& draws, std::span<const int64_t> destinations,
                                FusedRoom* room, NeighborPicks* picks) {
  picks->sources.clear();
  picks->edge_ids.clear();
  picks->weights.clear();
  picks->offsets.assign(destinations.size() + 1, 0);
  if (destinations.empty() || draws.rule().nothing()) return {};
  picks->sources.reserve(
      ExpectedEdges(std::ssize(destinations), draws.rule().fanout, kReserveCollected));
  return HWY_DYNAMIC_DISPATCH(CollectLayer)(draws, destinations, room, picks->offsets.data(), {},
                                            {&picks->sources, &picks->edge_ids, &picks->weights});
}

}  // namespace halograph
#endif  // HWY_ONCE
