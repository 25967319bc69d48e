// Compiled once for each instruction set, as the kernel is.
#include <algorithm>
#include <array>

#include "tests/bench/sampling/rivals.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/sampling/two_step_tuned.cc"
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

// Step one: picked source ids in a row, and where each destination's begin. Returns their number,
// or -1 where this instruction set has no vectors to draw with.
HWY_ATTR int64_t DrawAll(const RelationTopology& topology, std::span<const int64_t> nodes,
                         int32_t fanout, uint64_t layer_key, uint64_t* stage, int64_t* indptr,
                         uint32_t* ids) {
#if HALOGRAPH_SIMD_DRAWS
  constexpr int64_t kAskLag = 8;
  constexpr int64_t kLag = 128;
  constexpr int64_t kChunk = 8;
  constexpr int64_t kCapacity = 2048;
  FusedRows<uint32_t> rows(topology);
  const SimdDraws<uint32_t> draws(fanout, false);
  std::array<uint64_t, 8> keys;
  const auto count = std::ssize(nodes);
  int64_t flushed = 0;
  int64_t pushed = 0;
  int64_t asked = 0;
  int64_t loaded = 0;
  const auto ask = [&](int64_t ask_to) HWY_ATTR {
    for (; asked < ask_to; ++asked) {
      __builtin_prefetch(reinterpret_cast<const void*>(stage[asked]), 0, 2);
    }
  };
  const auto load = [&](int64_t load_to) HWY_ATTR {
    for (; loaded < load_to; ++loaded) {
      ids[flushed + loaded] = *reinterpret_cast<const uint32_t*>(stage[loaded]);
    }
  };
  for (int64_t group = 0; group < count; group += 8) {
    const int64_t end = std::min(group + 8, count);
    const int64_t ahead_end = std::min(end + 16, count);
    for (int64_t i = group + 16; i < ahead_end; ++i) rows.Prefetch(nodes[i]);
    NodeKeys(layer_key, nodes.data() + group, keys.data());
    for (int64_t i = group; i < end; ++i) {
      pushed += draws.Draw(keys[i - group], rows.Find(nodes[i]), stage + pushed);
      indptr[i + 1] = flushed + pushed;
      while (pushed - asked >= kAskLag + kChunk) {
        ask(asked + kChunk);
        if (asked - loaded >= kLag + kChunk) load(loaded + kChunk);
      }
    }
    if (end == count) {
      ask(pushed);
      load(pushed);
    }
    if (pushed > kCapacity - 512) {
      std::copy(stage + loaded, stage + pushed, stage);
      flushed += loaded;
      pushed -= loaded;
      asked -= loaded;
      loaded = 0;
    }
  }
  return flushed + pushed;
#else
  static_cast<void>(topology), static_cast<void>(nodes), static_cast<void>(fanout);
  static_cast<void>(layer_key);
  static_cast<void>(stage);
  static_cast<void>(indptr);
  static_cast<void>(ids);
  return -1;
#endif
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halograph
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halograph {
namespace {

HWY_EXPORT(DrawAll);

class TwoStepTuned final : public Rival {
 public:
  explicit TwoStepTuned(const RmatCsc* graph)
      : graph_(graph), stage_(4096), map_(graph->nodes), nodes_(4096) {}

  int64_t Sample(std::span<const int64_t> seeds, std::span<const int32_t> fanouts,
                 uint64_t batch_seed) override {
    map_.Restart(size_);
    blocks_.resize(fanouts.size());
    nodes_.GrowTo(seeds.size() + 4096);
    positions_.GrowTo(seeds.size());
    size_ = map_.FindOrAppend(seeds.data(), std::ssize(seeds), nodes_.data(), 0, positions_.data());
    int64_t edges = 0;
    for (size_t l = 0; l < fanouts.size(); ++l) {
      edges +=
          SampleLayer(fanouts[l], LayerKey(batch_seed, static_cast<int>(l), 1, 0), &blocks_[l]);
    }
    unique_.assign(nodes_.data(), nodes_.data() + size_);
    return edges;
  }

  int64_t unique_nodes() const override { return std::ssize(unique_); }

 private:
  int64_t SampleLayer(int32_t fanout, uint64_t layer_key, Block* block) {
    const int64_t destinations = size_;
    block->indptr.assign(static_cast<size_t>(destinations) + 1, 0);
    ids_.GrowTo(static_cast<size_t>(destinations * fanout));
    const int64_t edges = HWY_DYNAMIC_DISPATCH(DrawAll)(
        graph_->topology[0], {nodes_.data(), static_cast<size_t>(destinations)}, fanout, layer_key,
        stage_.data(), block->indptr.data(), ids_.data());
    // Step two: compaction, as far behind its prefetches as the kernel's.
    constexpr int64_t kPiece = 8;
    constexpr int64_t kLag = 64;
    if (edges < 0) return edges;
    nodes_.GrowTo(static_cast<size_t>(destinations + edges) + 4096);
    positions_.GrowTo(static_cast<size_t>(edges));
    for (int64_t e = 0; e < edges; e += kPiece) {
      const int64_t ahead_end = std::min(e + kPiece + kLag, edges);
      for (int64_t i = e == 0 ? 0 : e + kLag; i < ahead_end; ++i) map_.Prefetch(ids_.data()[i]);
      size_ = map_.FindOrAppend(ids_.data() + e, std::min(kPiece, edges - e), nodes_.data(), size_,
                                positions_.data() + e);
    }
    block->indices.assign(positions_.data(), positions_.data() + edges);
    return edges;
  }

  const RmatCsc* graph_;
  FusedArray<uint64_t> stage_;
  DirectIdMap map_;
  FusedArray<int64_t> nodes_;
  FusedArray<uint32_t> ids_;
  FusedArray<int32_t> positions_;
  std::vector<Block> blocks_;
  std::vector<int64_t> unique_;
  int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<Rival> MakeTwoStepTuned(const RmatCsc* graph) {
  return std::make_unique<TwoStepTuned>(graph);
}

}  // namespace halograph
#endif  // HWY_ONCE
