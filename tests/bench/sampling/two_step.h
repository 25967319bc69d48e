// Sampling as common libraries have it, in two steps: a layer sampled to COO; then ids compacted
// with a concurrent hash map, and COO turned to CSC. All ids are 64 bits wide, edge ids are carried
// along. For the baselines of the benchmarks only. Parallel over `pool` where there is one; it may
// be null.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "common/base/rng.h"
#include "common/base/thread_pool.h"
#include "common/sampling/draws.h"

namespace halograph {

inline constexpr int64_t kTwoStepGrain = 1024;

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

// The edges drawn without replacement for `destinations`, those of destination i from (*offsets)[i]
// on. Graph: Find(v) gives a row with first_edge and degree, Source(row, position) an edge's
// source.
template <typename Graph>
Coo SampleToCoo(const Graph& graph, std::span<const int64_t> destinations, int32_t fanout,
                uint64_t layer_key, ThreadPool* pool, std::vector<int64_t>* offsets) {
  const auto n = std::ssize(destinations);
  offsets->assign(destinations.size() + 1, 0);
  ParallelFor(pool, n, kTwoStepGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      (*offsets)[i + 1] = PicksOf(graph.Find(destinations[i]).degree, fanout, false);
    }
  });
  for (int64_t i = 0; i < n; ++i) (*offsets)[i + 1] += (*offsets)[i];
  const auto edges = static_cast<size_t>(offsets->back());
  Coo coo{.sources = std::vector<int64_t>(edges),
          .destinations = std::vector<int64_t>(edges),
          .edge_ids = std::vector<int64_t>(edges)};
  ParallelFor(pool, n, kTwoStepGrain, [&](int64_t begin, int64_t end) {
    FloydDrawer floyd;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t v = destinations[i];
      const auto row = graph.Find(v);
      const int64_t first = (*offsets)[i];
      const std::span<int64_t> picks(coo.edge_ids.data() + first,
                                     static_cast<size_t>((*offsets)[i + 1] - first));
      if (TakesAll(row.degree, fanout, false)) {
        std::iota(picks.begin(), picks.end(), int64_t{0});
      } else {
        floyd.Draw(SubKey(layer_key, static_cast<uint64_t>(v)), row.degree, picks);
      }
      for (int64_t e = first; e < (*offsets)[i + 1]; ++e) {
        coo.sources[e] = graph.Source(row, coo.edge_ids[e]);
        coo.destinations[e] = v;
        coo.edge_ids[e] += row.first_edge;
      }
    }
  });
  return coo;
}

struct Csc {
  std::vector<int64_t> indptr, indices, edge_ids;
};

// Unique ids of `first`, then of the edges' sources, by first occurrence; if `compact` is not null,
// the edges over them.
inline std::vector<int64_t> CompactCoo(std::span<const int64_t> first, const Coo& coo,
                                       ThreadPool* pool, Coo* compact) {
  const auto head = std::ssize(first);
  const auto edges = std::ssize(coo.sources);
  ConcurrentIdMap map(head + edges);
  const auto id = [&](int64_t i) { return i < head ? first[i] : coo.sources[i - head]; };
  ParallelFor(pool, head + edges, kTwoStepGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) map.Insert(id(i), i);
  });
  std::vector<int64_t> ranks(static_cast<size_t>(head + edges) + 1);
  ParallelFor(pool, head + edges, kTwoStepGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ranks[i + 1] = map.Value(id(i)) == i ? 1 : 0;
  });
  for (size_t i = 1; i < ranks.size(); ++i) ranks[i] += ranks[i - 1];
  std::vector<int64_t> unique(static_cast<size_t>(ranks.back()));
  ParallelFor(pool, head + edges, kTwoStepGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (ranks[i + 1] != ranks[i]) unique[ranks[i]] = id(i);
    }
  });
  if (compact == nullptr) return unique;
  compact->sources.resize(coo.sources.size());
  compact->destinations.resize(coo.sources.size());
  compact->edge_ids = coo.edge_ids;
  ParallelFor(pool, edges, kTwoStepGrain, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      compact->sources[e] = ranks[map.Value(coo.sources[e])];
      compact->destinations[e] = ranks[map.Value(coo.destinations[e])];
    }
  });
  return unique;
}

// Order within a destination is kept.
inline Csc CooToCsc(const Coo& coo, int64_t destinations) {
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

}  // namespace halograph
