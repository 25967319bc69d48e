// The tail of the kernel: from the addresses of picked entries to what is made of the source ids,
// as a stream. Cursors trail one another, each far enough behind for what the one ahead asked for
// to arrive: picks pushed -> entry of `indices` asked for -> source id read -> taken by the sink
// (sinks.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "common/sampling/kernel/outcome.h"
#include "hwy/base.h"

namespace halograph {

// Edges that an entry is asked for after they were pushed, so that no address is waited for.
inline constexpr int64_t kAskLag = 8;
// Edges that a read trails its prefetch by; flat over a wide range around it.
inline constexpr int64_t kLoadLag = 128;

// Edges on their way through the kernel: address of the entry, source id.
struct FusedStage {
  static constexpr int64_t kCapacity = 2048;  // with the sink's, fits the first cache
  // What may be pushed between two pumps, and stored beyond: no pump leaves less room.
  static constexpr int64_t kRoom = 512;
  alignas(64) std::array<uint64_t, kCapacity> addresses;
  alignas(64) std::array<int64_t, kCapacity> ids;  // or uint32_t, as the relation has them
};

// IdT: width of the relation's indices. A hot loop works on a copy of its own and pumps often: the
// cursors stay in registers, and draws and reads of memory are under way together.
template <typename IdT, typename Sink>
class FusedStream {
 public:
  // `before`: edges that the block has already.
  FusedStream(FusedStage* stage, Sink sink, int64_t before)
      : addresses_(stage->addresses.data()),
        ids_(reinterpret_cast<IdT*>(stage->ids.data())),
        sink_(sink),
        flushed_(before) {}

  // Where the next addresses belong; Push says how many were written.
  [[nodiscard]] HWY_INLINE uint64_t* tail() const { return addresses_ + pushed_; }
  HWY_INLINE void Push(int64_t count) { pushed_ += count; }

  // Edges of the block, as far as they were pushed.
  [[nodiscard]] HWY_INLINE int64_t total() const { return flushed_ + pushed_; }

  // Moves every cursor on, by whole chunks. False if the sink takes no more, or not what was read:
  // outcome().
  [[nodiscard]] HWY_INLINE bool Pump() {
    while (pushed_ - asked_ >= kAskLag + kChunk) {
      Ask(kChunk);
      if (HWY_UNLIKELY(asked_ - loaded_ < kLoadLag + kChunk)) continue;
      Load(kChunk);
      if (HWY_UNLIKELY(loaded_ - taken_ < Sink::kLag + kChunk)) continue;
      if (HWY_UNLIKELY(!Take(kChunk))) return false;
    }
    return HWY_LIKELY(pushed_ <= FusedStage::kCapacity - FusedStage::kRoom) || Slide();
  }

  // Lets all edges arrive. As Pump.
  [[nodiscard]] HWY_INLINE bool Finish() {
    Ask(pushed_ - asked_);
    Load(asked_ - loaded_);
    return Take(loaded_ - taken_) && Slide();
  }

  // After a false one.
  [[nodiscard]] FusedOutcome outcome() const {
    if (largest_ < sink_.limit()) return {.kind = FusedOutcome::Kind::kListTooLong};
    return {.kind = FusedOutcome::Kind::kUnknownSource, .id = static_cast<int64_t>(largest_)};
  }

 private:
  static constexpr int64_t kChunk = 8;

  // The steps read members through locals: else each write to a buffer makes the compiler read them
  // again.
  HWY_INLINE void Ask(int64_t count) {
    const uint64_t* const addresses = addresses_ + asked_;
    for (int64_t i = 0; i < count; ++i) {
      __builtin_prefetch(reinterpret_cast<const void*>(addresses[i]), 0, 2);
    }
    asked_ += count;
  }

  HWY_INLINE void Load(int64_t count) {
    const uint64_t* const addresses = addresses_ + loaded_;
    IdT* const ids = ids_ + loaded_;
    const Sink sink = sink_;
    uint64_t largest = largest_;
    for (int64_t i = 0; i < count; ++i) {
      const IdT id = *reinterpret_cast<const IdT*>(addresses[i]);
      ids[i] = id;
      largest = std::max(largest, static_cast<uint64_t>(id));
      sink.Prefetch(static_cast<int64_t>(id));
    }
    largest_ = largest;
    loaded_ += count;
  }

  [[nodiscard]] HWY_INLINE bool Take(int64_t count) {
    const Sink sink = sink_;
    if (HWY_UNLIKELY(largest_ >= sink.limit())) return false;
    sink.Take(ids_ + taken_, taken_, count);
    taken_ += count;
    return true;
  }

  // Hands what is finished on and moves the rest to the front.
  [[nodiscard]] HWY_INLINE bool Slide() {
    const Sink sink = sink_;
    const bool more = sink.Flush(ids_, addresses_, taken_);
    std::memmove(addresses_, addresses_ + taken_, Bytes<uint64_t>(pushed_ - taken_));
    std::memmove(ids_, ids_ + taken_, Bytes<IdT>(loaded_ - taken_));
    flushed_ += taken_;
    pushed_ -= taken_;
    asked_ -= taken_;
    loaded_ -= taken_;
    taken_ = 0;
    return more;
  }

  template <typename T>
  static size_t Bytes(int64_t count) {
    return static_cast<size_t>(count) * sizeof(T);
  }

  uint64_t* addresses_;
  IdT* ids_;
  Sink sink_;
  int64_t flushed_;     // edges before the front of the buffers
  int64_t pushed_ = 0;  // the cursors, counted from the front
  int64_t asked_ = 0;
  int64_t loaded_ = 0;
  int64_t taken_ = 0;
  uint64_t largest_ = 0;  // id that was read; a negative one is larger than all
};

}  // namespace halograph
