#include "common/base/rng.h"
#include "common/sampling/draws.h"
#include "tests/bench/sampling/rivals.h"

namespace halograph {

namespace {

constexpr int kDegreeBits = 24;

struct OffsetRows {
  const int64_t* indptr;
  void Prefetch(int64_t v) const { __builtin_prefetch(indptr + v); }
  [[nodiscard]] int64_t Start(int64_t v, uint64_t* degree) const {
    *degree = static_cast<uint64_t>(indptr[v + 1] - indptr[v]);
    return indptr[v];
  }
};

struct PackedRows {
  const uint64_t* packed;
  void Prefetch(int64_t v) const { __builtin_prefetch(packed + v); }
  [[nodiscard]] int64_t Start(int64_t v, uint64_t* degree) const {
    *degree = packed[v] & ((uint64_t{1} << kDegreeBits) - 1);
    return static_cast<int64_t>(packed[v] >> kDegreeBits);
  }
};

}  // namespace

Replay::Replay(const RmatCsc* graph, bool packed)
    : graph_(graph), map_(static_cast<size_t>(graph->nodes)) {
  if (!packed) return;
  packed_ = FusedArray<uint64_t>(static_cast<size_t>(graph->nodes));
  const int64_t* const indptr = graph->indptr.data();
  for (int64_t v = 0; v < graph->nodes; ++v) {
    packed_.data()[v] = static_cast<uint64_t>(indptr[v]) << kDegreeBits |
                        static_cast<uint64_t>(indptr[v + 1] - indptr[v]);
  }
}

void Replay::Record(const Minibatch& minibatch, std::span<const int32_t> fanouts,
                    uint64_t batch_seed) {
  nodes_ = minibatch.nodes[0];
  layers_.assign(minibatch.layers.size(), {});
  FloydDrawer floyd;
  std::vector<int64_t> picks;
  for (size_t l = 0; l < layers_.size(); ++l) {
    layers_[l].offsets = minibatch.layers[l].blocks[0].indptr;
    const uint64_t key = LayerKey(batch_seed, static_cast<int>(l), 1, 0);
    for (size_t i = 0; i + 1 < layers_[l].offsets.size(); ++i) {
      const int64_t* const offsets = graph_->indptr.data() + nodes_[i];
      const int64_t degree = offsets[1] - offsets[0];
      picks.resize(static_cast<size_t>(PicksOf(degree, fanouts[l], false)));
      if (TakesAll(degree, fanouts[l], false)) {
        for (size_t p = 0; p < picks.size(); ++p) picks[p] = static_cast<int64_t>(p);
      } else {
        floyd.Draw(SubKey(key, static_cast<uint64_t>(nodes_[i])), degree, picks);
      }
      for (const int64_t p : picks) layers_[l].positions.push_back(static_cast<uint32_t>(p));
    }
  }
}

int64_t Replay::Run() {
  if (packed_.size() > 0) return RunOver(PackedRows{packed_.data()});
  return RunOver(OffsetRows{graph_->indptr.data()});
}

template <typename Rows>
int64_t Replay::RunOver(const Rows& rows) {
  constexpr int64_t kRing = 1024;  // more than the lags and eight destinations
  constexpr int64_t kMask = kRing - 1;
  const uint32_t* addresses[kRing];
  uint32_t ids[kRing];
  uint64_t sum = 0;
  int64_t total = 0;
  for (const Layer& layer : layers_) {
    const auto n = std::ssize(layer.offsets) - 1;
    int64_t pushed = 0;
    int64_t loaded = 0;
    int64_t read = 0;
    const auto pump = [&](int64_t load_to, int64_t lag) {
      for (; loaded < load_to; ++loaded) {
        ids[loaded & kMask] = *addresses[loaded & kMask];
        __builtin_prefetch(map_.data() + ids[loaded & kMask]);
      }
      for (; read < loaded - lag; ++read) sum += map_.data()[ids[read & kMask]];
    };
    for (int64_t group = 0; group < n; group += 8) {
      const int64_t end = std::min(n, group + 8);
      for (int64_t i = group + 16; i < std::min(n, group + 24); ++i) {
        rows.Prefetch(nodes_[i]);
      }
      for (int64_t i = group; i < end; ++i) {
        uint64_t degree = 0;
        const int64_t start = rows.Start(nodes_[i], &degree);
        sum += degree;
        for (; pushed < layer.offsets[i + 1]; ++pushed) {
          const uint32_t* const entry = graph_->indices.data() + start + layer.positions[pushed];
          addresses[pushed & kMask] = entry;
          __builtin_prefetch(entry, 0, 2);
        }
      }
      pump(pushed - 128, 32);
    }
    pump(pushed, 0);
    total += pushed;
  }
  sum_ += sum;
  return total;
}

}  // namespace halograph
