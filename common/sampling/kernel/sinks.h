// What becomes of the source ids that a stream has read: compacted into a block, or collected. A
// sink is a handle: small, copied, with the state behind its pointers.
//   kLag              edges that Take trails Prefetch by
//   limit()           ids are below, or the run stops before they are taken
//   Prefetch(id)      of an id that Take will get soon
//   Take(ids, at, n)  n ids, the first of which is at position `at` after the last Flush
//   Flush(ids, addresses, n)
//                     the n taken ids since the last Flush, and the addresses of their entries;
//                     false if no more can be taken
// What is called by the edge is always inlined: GCC drops calls of functions that only prefetch.
//
// Edge ids and weights are made in Flush, of the addresses, which the stream still has. So a run
// that is not asked for them pays one comparison in some 1,500 edges, and needs no kernel of its
// own (each is compiled for every instruction set, id width and map).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/sampling/kernel/edge_columns.h"
#include "common/sampling/kernel/nodes.h"
#include "common/sampling/kernel/stream.h"
#include "common/sampling/minibatch.h"
#include "hwy/base.h"

namespace halograph {

// Positions of compacted edges before they are handed to the block.
using FusedPositions = std::array<int32_t, FusedStage::kCapacity>;

// Map: of the source type.
template <typename IdT, typename Map>
class CompactingSink {
 public:
  static constexpr int64_t kLag = 32;

  // `edges` is null if nothing but the indices is asked for.
  CompactingSink(FusedPositions* positions, FusedNodes* sources, const FusedEdges<IdT>* edges,
                 Block* block)
      : positions_(positions->data()),
        sources_(sources),
        map_(&std::get<Map>(sources->map)),
        edges_(edges),
        block_(block) {
    sources_->Reserve(FusedStage::kCapacity);
  }

  [[nodiscard]] uint64_t limit() const { return static_cast<uint64_t>(sources_->type_nodes); }
  HWY_INLINE void Prefetch(int64_t id) const { map_->Prefetch(id); }

  HWY_INLINE void Take(const IdT* ids, int64_t at, int64_t count) const {
    sources_->size =
        map_->FindOrAppend(ids, count, sources_->ids.data(), sources_->size, positions_ + at);
  }

  // False if the list is longer than positions can number.
  [[nodiscard]] bool Flush(const IdT*, const uint64_t* addresses, int64_t count) const {
    block_->indices.insert(block_->indices.end(), positions_, positions_ + count);
    if (edges_ != nullptr) edges_->Append(addresses, count, &block_->edge_ids, &block_->weights);
    sources_->Reserve(FusedStage::kCapacity);
    return sources_->size <= std::numeric_limits<int32_t>::max();
  }

 private:
  int32_t* positions_;
  FusedNodes* sources_;
  Map* map_;
  const FusedEdges<IdT>* edges_;
  Block* block_;
};

// Where edges are collected; edge ids and weights stay as they are unless asked for.
template <typename OutT>
struct CollectedEdges {
  std::vector<OutT>* sources = nullptr;
  std::vector<int64_t>* edge_ids = nullptr;
  std::vector<float>* weights = nullptr;
};

// OutT: width of what is collected, IdT or wider.
template <typename IdT, typename OutT>
class CollectingSink {
 public:
  static constexpr int64_t kLag = 0;

  // `edges` is null if nothing but the sources is asked for.
  CollectingSink(const CollectedEdges<OutT>& out, const FusedEdges<IdT>* edges)
      : out_(out), edges_(edges) {}

  // What is collected is not followed: callers check it where they do.
  [[nodiscard]] static constexpr uint64_t limit() { return ~uint64_t{0}; }
  HWY_INLINE void Prefetch(int64_t) const {}
  HWY_INLINE void Take(const IdT*, int64_t, int64_t) const {}
  [[nodiscard]] bool Flush(const IdT* ids, const uint64_t* addresses, int64_t count) const {
    out_.sources->insert(out_.sources->end(), ids, ids + count);
    if (edges_ != nullptr) edges_->Append(addresses, count, out_.edge_ids, out_.weights);
    return true;
  }

 private:
  CollectedEdges<OutT> out_;
  const FusedEdges<IdT>* edges_;
};

}  // namespace halograph
