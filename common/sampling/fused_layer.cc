// Compiled once for each instruction set and chosen when first called (Highway).
#include "common/sampling/fused_layer.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "common/base/rng.h"
#include "common/sampling/draws.h"
#include "common/sampling/fused_rows.h"
#include "common/sampling/fused_stream.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "common/sampling/fused_layer.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "common/sampling/fused_simd-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace halograph {
namespace HWY_NAMESPACE {
namespace {

constexpr int64_t kGroup = 8;       // destinations drawn between two pumps of the stream
constexpr int64_t kRowsAhead = 16;  // destinations whose offsets are asked for ahead
constexpr int64_t kPiece = 256;     // of many picks, what is pushed at once

template <typename IdT, typename Map>
class LayerRun {
 public:
  LayerRun(const FusedLayerTask& task, FusedWorkspace* workspace, Block* block)
      : task_(task),
        workspace_(workspace),
        destinations_(workspace->nodes[task.destination_type]),
        rows_(*task.topology),
        indptr_(block->indptr.data()),
        stream_(&workspace->stage, &workspace->nodes[task.source_type], &block->indices) {}

  [[nodiscard]] HWY_ATTR bool Run() {
    const bool simd = task_.fanout > 0 && task_.fanout <= kSimdPicks;
    const bool many = task_.fanout == kFullNeighborhood || task_.fanout > kScanPicks;
    for (int64_t group = 0; group < task_.num_destinations; group += kGroup) {
      const int64_t end = std::min(group + kGroup, task_.num_destinations);
      // Read anew for each group: the list moves when it grows.
      const int64_t* const nodes = destinations_.ids.data();
      const int64_t ahead_end = std::min(end + kRowsAhead, task_.num_destinations);
      for (int64_t i = group + kRowsAhead; i < ahead_end; ++i) rows_.Prefetch(nodes[i]);
      if (many) {
        if (!DrawMany(group, end)) return false;
        continue;
      }
      simd ? DrawFewSimd(nodes, group, end) : DrawFew(nodes, group, end);
      if (!stream_.Pump()) return false;
    }
    return stream_.Finish();
  }

 private:
  void DrawFew(const int64_t* nodes, int64_t group, int64_t end) {
    for (int64_t i = group; i < end; ++i) {
      const FusedRow row = rows_.Find(nodes[i]);
      stream_.Push(DrawAddresses(NodeKey(nodes[i]), row, stream_.tail()));
      indptr_[i + 1] = stream_.total();
    }
  }

  HWY_ATTR void DrawFewSimd(const int64_t* nodes, int64_t group, int64_t end) {
#if HALOGRAPH_SIMD_DRAWS
    std::array<uint64_t, kGroup> keys;
    NodeKeys(task_.layer_key, nodes + group, keys.data());
    const SimdDraws<IdT> draws(task_.fanout, task_.replace);
    for (int64_t i = group; i < end; ++i) {
      const FusedRow row = rows_.Find(nodes[i]);
      const uint64_t key = keys[i - group];
      stream_.Push(HWY_LIKELY(row.degree < kSimdDegree) ? draws.Draw(key, row, stream_.tail())
                                                        : DrawAddresses(key, row, stream_.tail()));
      indptr_[i + 1] = stream_.total();
    }
#else
    DrawFew(nodes, group, end);
#endif
  }

  // Writes the addresses of one destination's picks, at most kScanPicks.
  int64_t DrawAddresses(uint64_t node_key, const FusedRow& row, uint64_t* addresses) {
    const int64_t count = PicksOf(row.degree, task_.fanout, task_.replace);
    std::array<int64_t, kScanPicks> positions;
    Draw(node_key, row.degree, std::span(positions).first(static_cast<size_t>(count)));
    for (int64_t i = 0; i < count; ++i) addresses[i] = AddressOf(row, positions[i]);
    return count;
  }

  // Any number of picks a destination, pushed in pieces.
  [[nodiscard]] bool DrawMany(int64_t group, int64_t end) {
    for (int64_t i = group; i < end; ++i) {
      const int64_t v = destinations_.ids.data()[i];
      const FusedRow row = rows_.Find(v);
      const int64_t count = PicksOf(row.degree, task_.fanout, task_.replace);
      const bool all = TakesAll(row.degree, task_.fanout, task_.replace);
      if (!all) {
        workspace_->positions.resize(static_cast<size_t>(count));
        Draw(NodeKey(v), row.degree, workspace_->positions);
      }
      for (int64_t piece = 0; piece < count; piece += kPiece) {
        const int64_t size = std::min(kPiece, count - piece);
        uint64_t* const addresses = stream_.tail();
        for (int64_t p = 0; p < size; ++p) {
          addresses[p] = AddressOf(row, all ? piece + p : workspace_->positions[piece + p]);
        }
        stream_.Push(size);
        if (!stream_.Pump()) return false;
      }
      indptr_[i + 1] = stream_.total();
    }
    return true;
  }

  void Draw(uint64_t node_key, int64_t degree, std::span<int64_t> positions) {
    if (TakesAll(degree, task_.fanout, task_.replace)) {
      std::iota(positions.begin(), positions.end(), 0);
    } else if (task_.replace) {
      DrawWithReplacement(node_key, degree, positions);
    } else {
      workspace_->floyd.Draw(node_key, degree, positions);
    }
  }

  [[nodiscard]] uint64_t NodeKey(int64_t v) const {
    return SubKey(task_.layer_key, static_cast<uint64_t>(v));
  }
  static uint64_t AddressOf(const FusedRow& row, int64_t position) {
    return row.address + static_cast<uint64_t>(position) * sizeof(IdT);
  }

  const FusedLayerTask& task_;
  FusedWorkspace* workspace_;
  const FusedNodes& destinations_;
  FusedRows<IdT> rows_;
  int64_t* indptr_;
  FusedStream<IdT, Map> stream_;
};

template <typename IdT>
bool RunWithMap(const FusedLayerTask& task, FusedWorkspace* workspace, Block* block) {
  if (std::holds_alternative<DirectIdMap>(workspace->nodes[task.source_type].map)) {
    return LayerRun<IdT, DirectIdMap>(task, workspace, block).Run();
  }
  return LayerRun<IdT, HashIdMap>(task, workspace, block).Run();
}

bool RunLayer(const FusedLayerTask& task, bool wide_ids, FusedWorkspace* workspace, Block* block) {
  return wide_ids ? RunWithMap<int64_t>(task, workspace, block)
                  : RunWithMap<uint32_t>(task, workspace, block);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {
namespace {

HWY_EXPORT(RunLayer);

constexpr int64_t kExpectedDegree = 8;  // for a first room only
constexpr int64_t kReserve = 1 << 22;   // edges that a block has room for before it is known

// All segments of a relation have one width; those without edges may have no indices at all.
bool HasWideIds(const RelationTopology& topology) {
  return std::any_of(topology.segments().begin(), topology.segments().end(),
                     [](const CscSegment& segment) { return segment.indices64 != nullptr; });
}

// Room for what is most likely: untouched room costs nothing, growing costs a copy.
size_t ExpectedEdges(const FusedLayerTask& task) {
  const int64_t each = task.fanout == kFullNeighborhood ? kExpectedDegree : task.fanout;
  return static_cast<size_t>(std::min(std::min(task.num_destinations, kReserve) * each, kReserve));
}

}  // namespace

bool SampleFusedLayer(const FusedLayerTask& task, FusedWorkspace* workspace, Block* block) {
  block->indices.clear();
  block->indptr.assign(static_cast<size_t>(task.num_destinations) + 1, 0);
  if (task.num_destinations == 0 || task.fanout == 0) return true;
  block->indices.reserve(ExpectedEdges(task));
  // Groups are read whole: beyond the last destination is memory too.
  workspace->nodes[task.destination_type].Reserve(FusedStage::kCapacity);
  return HWY_DYNAMIC_DISPATCH(RunLayer)(task, HasWideIds(*task.topology), workspace, block);
}

}  // namespace halograph
#endif  // HWY_ONCE
