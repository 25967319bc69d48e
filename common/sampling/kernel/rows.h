// Where the in-edges of a destination lie, found without a search if one segment holds all.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <type_traits>

#include "common/graph/topology.h"
#include "common/sampling/layer_draws.h"
#include "hwy/base.h"

namespace halograph {

struct FusedRow {
  uint64_t address = 0;  // of the first entry of `indices`
  int64_t degree = 0;
};

// Whether a row lies within `edges`, and its offsets ascend. Negative ones are larger than all.
inline bool ValidOffsets(const int64_t* offsets, int64_t edges) {
  const auto begin = static_cast<uint64_t>(offsets[0]);
  const auto end = static_cast<uint64_t>(offsets[1]);
  return begin <= end && end <= static_cast<uint64_t>(edges);
}

// Requires `v` present in `topology`. The degree is -1 if the offsets are damaged.
inline PickRow FindPickRow(const RelationTopology& topology, int64_t v) {
  const CscSegment& segment = topology.Owner(v);
  assert(segment.present());
  const int64_t* const offsets = segment.indptr + (v - segment.nodes.begin);
  const bool valid = ValidOffsets(offsets, segment.indptr[segment.nodes.size()]);
  return {.segment = static_cast<int>(&segment - topology.segments().data()),
          .node = v - segment.nodes.begin,
          .begin = valid ? offsets[0] : 0,
          .degree = valid ? offsets[1] - offsets[0] : -1};
}

// IdT: width of the relation's indices.
template <typename IdT>
class FusedRows {
 public:
  explicit FusedRows(const RelationTopology& topology)
      : topology_(topology), single_(topology.segments().size() == 1) {
    if (!single_) return;
    segment_ = topology.segments()[0];
    edges_ = segment_.indptr[segment_.nodes.size()];
  }

  // Both offsets: they lie on two lines now and then.
  HWY_INLINE void Prefetch(int64_t v) const {
    const CscSegment& segment = Segment(v);
    const int64_t* const offsets = segment.indptr + (v - segment.nodes.begin);
    __builtin_prefetch(offsets);
    __builtin_prefetch(offsets + 1);
  }

  // A damaged row has no edges, and damaged() tells.
  [[nodiscard]] HWY_INLINE FusedRow Find(int64_t v) {
    const CscSegment& segment = Segment(v);
    assert(segment.present());
    const int64_t* const offsets = segment.indptr + (v - segment.nodes.begin);
    if (!ValidOffsets(offsets, single_ ? edges_ : segment.indptr[segment.nodes.size()]))
        [[unlikely]] {
      damaged_ = v;
      return {};
    }
    return {.address = BaseAddress(segment) + static_cast<uint64_t>(offsets[0]) * sizeof(IdT),
            .degree = offsets[1] - offsets[0]};
  }

  [[nodiscard]] FusedRow Whole(const PickRow& row) const {
    const CscSegment& segment = topology_.segments()[static_cast<size_t>(row.segment)];
    return {.address = BaseAddress(segment) + static_cast<uint64_t>(row.begin) * sizeof(IdT),
            .degree = row.degree};
  }

  // Takes over what a copy has found damaged.
  void AddDamage(const FusedRows& copy) { damaged_ = std::max(damaged_, copy.damaged_); }
  // A destination found damaged, or -1.
  [[nodiscard]] int64_t damaged() const { return damaged_; }

 private:
  [[nodiscard]] const CscSegment& Segment(int64_t v) const {
    return single_ ? segment_ : topology_.Owner(v);
  }
  static uint64_t BaseAddress(const CscSegment& segment) {
    if constexpr (std::is_same_v<IdT, uint32_t>) {
      return reinterpret_cast<uint64_t>(segment.indices32);
    } else {
      return reinterpret_cast<uint64_t>(segment.indices64);
    }
  }

  const RelationTopology& topology_;
  const bool single_;
  CscSegment segment_;  // the single one
  int64_t edges_ = 0;   // its
  int64_t damaged_ = -1;
};

}  // namespace halograph
