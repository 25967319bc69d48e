// The tail of the kernel: from the addresses of picked entries to compacted ids, as a stream. Three
// cursors trail one another, each far enough behind for what the one ahead asked for to arrive:
// entry of `indices` asked for -> source id read, its map entry asked for -> compacted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "common/sampling/fused_workspace.h"

namespace halograph {

// Edges that a read trails its prefetch by; flat over a wide range around these.
inline constexpr int64_t kLoadLag = 128;
inline constexpr int64_t kCompactLag = 32;

// IdT: width of the relation's indices. Map: of the source type.
template <typename IdT, typename Map>
class FusedStream {
 public:
  // What may be pushed between two pumps, and stored beyond: no pump leaves less room.
  static constexpr int64_t kRoom = 512;

  FusedStream(FusedStage* stage, FusedNodes* sources, std::vector<int32_t>* indices)
      : addresses_(stage->addresses.data()),
        ids_(reinterpret_cast<IdT*>(stage->ids.data())),
        positions_(stage->positions.data()),
        sources_(sources),
        map_(&std::get<Map>(sources->map)),
        indices_(indices) {
    sources_->Reserve(FusedStage::kCapacity);
  }

  // Where the next addresses belong; Push says how many were written.
  [[nodiscard]] uint64_t* tail() const { return addresses_ + pushed_; }
  void Push(int64_t count) { pushed_ += count; }

  // Edges pushed since the block began.
  [[nodiscard]] int64_t total() const { return flushed_ + pushed_; }

  // Moves every cursor on. False if the list is longer than positions can number.
  [[nodiscard]] bool Pump() {
    Advance(pushed_ - kLoadLag, kCompactLag);
    return pushed_ <= FusedStage::kCapacity - kRoom || Slide();
  }

  // Lets all edges arrive. As Pump.
  [[nodiscard]] bool Finish() {
    Advance(pushed_, 0);
    return Slide();
  }

 private:
  void Advance(int64_t load_to, int64_t compact_lag) {
    // Through locals, so that no write to the buffers makes the compiler read members again.
    const uint64_t* const addresses = addresses_;
    for (int64_t i = asked_; i < pushed_; ++i) {
      __builtin_prefetch(reinterpret_cast<const void*>(addresses[i]), 0, 2);
    }
    asked_ = pushed_;
    IdT* const ids = ids_;
    const Map& map = *map_;
    for (int64_t i = loaded_; i < load_to; ++i) {
      const IdT id = *reinterpret_cast<const IdT*>(addresses[i]);
      ids[i] = id;
      map.Prefetch(static_cast<int64_t>(id));
    }
    loaded_ = std::max(loaded_, load_to);
    const int64_t count = loaded_ - compact_lag - compacted_;
    if (count <= 0) return;
    sources_->size = map_->FindOrAppend(ids_ + compacted_, count, sources_->ids.data(),
                                        sources_->size, positions_ + compacted_);
    compacted_ += count;
  }

  // Hands the finished positions to the block and moves the rest to the front.
  [[nodiscard]] bool Slide() {
    indices_->insert(indices_->end(), positions_, positions_ + compacted_);
    std::memmove(addresses_, addresses_ + compacted_, Bytes<uint64_t>(pushed_ - compacted_));
    std::memmove(ids_, ids_ + compacted_, Bytes<IdT>(loaded_ - compacted_));
    flushed_ += compacted_;
    pushed_ -= compacted_;
    asked_ -= compacted_;
    loaded_ -= compacted_;
    compacted_ = 0;
    sources_->Reserve(FusedStage::kCapacity);
    return sources_->size <= std::numeric_limits<int32_t>::max();
  }

  template <typename T>
  static size_t Bytes(int64_t count) {
    return static_cast<size_t>(count) * sizeof(T);
  }

  uint64_t* addresses_;
  IdT* ids_;
  int32_t* positions_;
  FusedNodes* sources_;
  Map* map_;
  std::vector<int32_t>* indices_;
  int64_t flushed_ = 0;  // edges before the front of the buffers
  int64_t pushed_ = 0;   // the cursors, counted from the front
  int64_t asked_ = 0;
  int64_t loaded_ = 0;
  int64_t compacted_ = 0;
};

}  // namespace halograph
