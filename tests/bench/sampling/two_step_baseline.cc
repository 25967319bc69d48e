#include <atomic>
#include <bit>
#include <memory>

#include "common/base/rng.h"
#include "common/sampling/draws.h"
#include "tests/bench/sampling/rivals.h"

namespace halograph {
namespace {

constexpr int64_t kGrain = 1024;

// Open addressing with compare-and-swap, at most half full. The position of an id is that of its
// first occurrence, so that any number of threads gives the same.
class ConcurrentIdMap {
 public:
  explicit ConcurrentIdMap(int64_t ids)
      : mask_(std::bit_ceil(static_cast<uint64_t>(2 * ids + 2)) - 1),
        keys_(mask_ + 1),
        values_(mask_ + 1) {
    for (auto& key : keys_) key.store(-1, std::memory_order_relaxed);
    for (auto& value : values_) value.store(INT64_MAX, std::memory_order_relaxed);
  }

  void Insert(int64_t id, int64_t index) {
    const uint64_t slot = Slot(id, true);
    int64_t least = values_[slot].load(std::memory_order_relaxed);
    while (index < least && !values_[slot].compare_exchange_weak(least, index)) {
    }
  }
  std::atomic<int64_t>& Value(int64_t id) { return values_[Slot(id, false)]; }

 private:
  uint64_t Slot(int64_t id, bool insert) {
    for (uint64_t slot = Mix(static_cast<uint64_t>(id)) & mask_;; slot = (slot + 1) & mask_) {
      int64_t key = keys_[slot].load(std::memory_order_relaxed);
      if (key == id) return slot;
      if (key == -1 && insert && keys_[slot].compare_exchange_strong(key, id)) return slot;
      if (key == id) return slot;
    }
  }

  const uint64_t mask_;
  std::vector<std::atomic<int64_t>> keys_;
  std::vector<std::atomic<int64_t>> values_;
};

struct Coo {
  std::vector<int64_t> sources, destinations, edge_ids;
};

struct Csc {
  std::vector<int64_t> indptr, indices, edge_ids;
};

class TwoStepBaseline final : public Rival {
 public:
  TwoStepBaseline(const RmatCsc* graph, ThreadPool* pool) : graph_(graph), pool_(pool) {}

  int64_t Sample(std::span<const int64_t> seeds, std::span<const int32_t> fanouts,
                 uint64_t batch_seed) override {
    blocks_.clear();
    nodes_ = Unique(seeds, {}, nullptr);
    int64_t edges = 0;
    for (size_t l = 0; l < fanouts.size(); ++l) {
      const Coo coo = SampleToCoo(fanouts[l], LayerKey(batch_seed, static_cast<int>(l), 1, 0));
      Coo compact;
      std::vector<int64_t> unique = Unique(nodes_, coo, &compact);
      blocks_.push_back(ToCsc(compact, std::ssize(nodes_)));
      edges += std::ssize(coo.sources);
      nodes_ = std::move(unique);
    }
    return edges;
  }

  int64_t unique_nodes() const override { return std::ssize(nodes_); }

 private:
  Coo SampleToCoo(int32_t fanout, uint64_t layer_key) {
    const auto n = std::ssize(nodes_);
    const int64_t* const indptr = graph_->indptr.data();
    std::vector<int64_t> offsets(nodes_.size() + 1);
    ParallelFor(pool_, n, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t v = nodes_[i];
        offsets[i + 1] = PicksOf(indptr[v + 1] - indptr[v], fanout, false);
      }
    });
    for (int64_t i = 0; i < n; ++i) offsets[i + 1] += offsets[i];
    const auto edges = static_cast<size_t>(offsets[n]);
    Coo coo{.sources = std::vector<int64_t>(edges),
            .destinations = std::vector<int64_t>(edges),
            .edge_ids = std::vector<int64_t>(edges)};
    ParallelFor(pool_, n, kGrain, [&](int64_t begin, int64_t end) {
      FloydDrawer floyd;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t v = nodes_[i];
        const std::span<int64_t> picks(coo.edge_ids.data() + offsets[i],
                                       static_cast<size_t>(offsets[i + 1] - offsets[i]));
        const int64_t degree = indptr[v + 1] - indptr[v];
        if (TakesAll(degree, fanout, false)) {
          for (int64_t p = 0; p < degree; ++p) picks[p] = p;
        } else {
          floyd.Draw(SubKey(layer_key, static_cast<uint64_t>(v)), degree, picks);
        }
        for (int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
          coo.edge_ids[e] += indptr[v];
          coo.sources[e] = graph_->indices.data()[coo.edge_ids[e]];
          coo.destinations[e] = v;
        }
      }
    });
    return coo;
  }

  // Unique ids of `first`, then of the edges' sources, by first occurrence; the edges over them.
  std::vector<int64_t> Unique(std::span<const int64_t> first, const Coo& coo, Coo* compact) {
    const auto head = std::ssize(first);
    const auto edges = std::ssize(coo.sources);
    ConcurrentIdMap map(head + edges);
    const auto id = [&](int64_t i) { return i < head ? first[i] : coo.sources[i - head]; };
    ParallelFor(pool_, head + edges, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) map.Insert(id(i), i);
    });
    std::vector<int64_t> ranks(static_cast<size_t>(head + edges) + 1);
    ParallelFor(pool_, head + edges, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ranks[i + 1] = map.Value(id(i)) == i ? 1 : 0;
    });
    for (size_t i = 1; i < ranks.size(); ++i) ranks[i] += ranks[i - 1];
    std::vector<int64_t> unique(static_cast<size_t>(ranks.back()));
    ParallelFor(pool_, head + edges, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (ranks[i + 1] != ranks[i]) unique[ranks[i]] = id(i);
      }
    });
    if (compact == nullptr) return unique;
    compact->sources.resize(coo.sources.size());
    compact->destinations.resize(coo.sources.size());
    compact->edge_ids = coo.edge_ids;
    ParallelFor(pool_, edges, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) {
        compact->sources[e] = ranks[map.Value(coo.sources[e])];
        compact->destinations[e] = ranks[map.Value(coo.destinations[e])];
      }
    });
    return unique;
  }

  static Csc ToCsc(const Coo& coo, int64_t destinations) {
    Csc csc{.indptr = std::vector<int64_t>(static_cast<size_t>(destinations) + 1),
            .indices = std::vector<int64_t>(coo.sources.size()),
            .edge_ids = std::vector<int64_t>(coo.sources.size())};
    for (const int64_t d : coo.destinations) ++csc.indptr[d + 1];
    for (int64_t i = 0; i < destinations; ++i) csc.indptr[i + 1] += csc.indptr[i];
    std::vector<int64_t> next(csc.indptr.begin(), csc.indptr.end() - 1);
    for (size_t e = 0; e < coo.sources.size(); ++e) {
      const int64_t place = next[coo.destinations[e]]++;
      csc.indices[place] = coo.sources[e];
      csc.edge_ids[place] = coo.edge_ids[e];
    }
    return csc;
  }

  const RmatCsc* graph_;
  ThreadPool* pool_;
  std::vector<int64_t> nodes_;
  std::vector<Csc> blocks_;
};

}  // namespace

std::unique_ptr<Rival> MakeTwoStepBaseline(const RmatCsc* graph, ThreadPool* pool) {
  return std::make_unique<TwoStepBaseline>(graph, pool);
}

}  // namespace halograph
