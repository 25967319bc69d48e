// What becomes of the source ids that a stream has read: compacted into a block, or collected. A
// sink is a handle: small, copied, with the state behind its pointers.
//   kLag              edges that Take trails Prefetch by
//   limit()           ids are below, or the run stops before they are taken
//   Prefetch(id)      of an id that Take will get soon
//   Take(ids, at, n)  n ids, the first of which is at position `at` after the last Flush
//   Flush(ids, n)     the n taken ids since the last Flush; false if no more can be taken
// What is called by the edge is always inlined: GCC drops calls of functions that only prefetch.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/sampling/fused_nodes.h"
#include "common/sampling/fused_stream.h"
#include "hwy/base.h"

namespace halograph {

// Positions of compacted edges before they are handed to the block.
using FusedPositions = std::array<int32_t, FusedStage::kCapacity>;

// Map: of the source type.
template <typename IdT, typename Map>
class CompactingSink {
 public:
  static constexpr int64_t kLag = 32;

  CompactingSink(FusedPositions* positions, FusedNodes* sources, std::vector<int32_t>* indices)
      : positions_(positions->data()),
        sources_(sources),
        map_(&std::get<Map>(sources->map)),
        indices_(indices) {
    sources_->Reserve(FusedStage::kCapacity);
  }

  [[nodiscard]] uint64_t limit() const { return static_cast<uint64_t>(sources_->type_nodes); }
  HWY_INLINE void Prefetch(int64_t id) const { map_->Prefetch(id); }

  HWY_INLINE void Take(const IdT* ids, int64_t at, int64_t count) const {
    sources_->size =
        map_->FindOrAppend(ids, count, sources_->ids.data(), sources_->size, positions_ + at);
  }

  // False if the list is longer than positions can number.
  [[nodiscard]] bool Flush(const IdT*, int64_t count) const {
    indices_->insert(indices_->end(), positions_, positions_ + count);
    sources_->Reserve(FusedStage::kCapacity);
    return sources_->size <= std::numeric_limits<int32_t>::max();
  }

 private:
  int32_t* positions_;
  FusedNodes* sources_;
  Map* map_;
  std::vector<int32_t>* indices_;
};

// OutT: width of what is collected, IdT or wider.
template <typename IdT, typename OutT>
class CollectingSink {
 public:
  static constexpr int64_t kLag = 0;

  explicit CollectingSink(std::vector<OutT>* sources) : sources_(sources) {}

  // What is collected is not followed: callers check it where they do.
  [[nodiscard]] static constexpr uint64_t limit() { return ~uint64_t{0}; }
  HWY_INLINE void Prefetch(int64_t) const {}
  HWY_INLINE void Take(const IdT*, int64_t, int64_t) const {}
  [[nodiscard]] bool Flush(const IdT* ids, int64_t count) const {
    sources_->insert(sources_->end(), ids, ids + count);
    return true;
  }

 private:
  std::vector<OutT>* sources_;
};

}  // namespace halograph
