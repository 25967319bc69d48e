// What is known of drawn edges besides their sources: global edge ids, and values of the edge
// feature that is drawn by. The kernel's stream knows an edge by the address of its entry in
// `indices`; the place in that file is the place of the edge.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/base/prefetch.h"
#include "common/sampling/kernel/stream.h"
#include "common/sampling/layer_draws.h"

namespace halograph {

// IdT: width of the relation's indices. Immutable.
template <typename IdT>
class FusedEdges {
 public:
  // Edges that Append takes at most.
  static constexpr int64_t kMost = FusedStage::kCapacity;

  // Edge ids or weights are asked for.
  explicit FusedEdges(const LayerDraws& draws) : ids_(draws.edge_ids) {
    for (const CscSegment& segment : draws.topology->segments()) {
      if (!segment.present()) continue;
      const auto edges = static_cast<uint64_t>(segment.indptr[segment.nodes.size()]);
      if (edges == 0) continue;
      segments_.push_back(
          {.begin = BaseAddress(segment),
           .bytes = edges * sizeof(IdT),
           .first_edge = segment.first_edge,
           .weights = draws.weights < 0 ? nullptr : segment.weights[draws.weights].weights});
    }
    std::sort(segments_.begin(), segments_.end(),
              [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
    weights_ = draws.weights >= 0;
  }

  // Appends what is asked for of the edges at `addresses`, at most kMost, in their order.
  void Append(const uint64_t* addresses, int64_t count, std::vector<int64_t>* edge_ids,
              std::vector<float>* weights) const {
    assert(count <= kMost);
    if (count == 0) return;
    const Segment* segment = segments_.data();
    if (ids_) {
      const size_t before = edge_ids->size();
      edge_ids->resize(before + static_cast<size_t>(count));
      int64_t* const out = edge_ids->data() + before;
      for (int64_t i = 0; i < count; ++i) {
        segment = Find(addresses[i], segment);
        out[i] = segment->first_edge + Position(addresses[i], *segment);
      }
    }
    if (weights_) AppendWeights(addresses, count, weights);
  }

 private:
  struct Segment {
    uint64_t begin = 0;  // of its indices
    uint64_t bytes = 0;
    int64_t first_edge = 0;
    const double* weights = nullptr;  // beside the indices
  };

  // All reads are under way before the first is waited for.
  void AppendWeights(const uint64_t* addresses, int64_t count, std::vector<float>* weights) const {
    std::array<const double*, kMost> values;
    const Segment* segment = segments_.data();
    for (int64_t i = 0; i < count; ++i) {
      segment = Find(addresses[i], segment);
      values[i] = segment->weights + Position(addresses[i], *segment);
      PrefetchToRead(values[i]);
    }
    const size_t before = weights->size();
    weights->resize(before + static_cast<size_t>(count));
    float* const out = weights->data() + before;
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(*values[i]);
  }

  // Edges of one destination are in one segment, so the guess is mostly right.
  [[nodiscard]] const Segment* Find(uint64_t address, const Segment* guess) const {
    if (address - guess->begin < guess->bytes) [[likely]]
      return guess;
    const auto after =
        std::upper_bound(segments_.begin(), segments_.end(), address,
                         [](uint64_t at, const Segment& segment) { return at < segment.begin; });
    return &*(after - 1);
  }
  static int64_t Position(uint64_t address, const Segment& segment) {
    return static_cast<int64_t>((address - segment.begin) / sizeof(IdT));
  }
  static uint64_t BaseAddress(const CscSegment& segment) {
    if constexpr (std::is_same_v<IdT, uint32_t>) {
      return reinterpret_cast<uint64_t>(segment.indices32);
    } else {
      return reinterpret_cast<uint64_t>(segment.indices64);
    }
  }

  std::vector<Segment> segments_;  // that have edges, by address
  bool ids_;
  bool weights_ = false;
};

}  // namespace halograph
