// Which items are in which stage of a pipeline, and which a stage may begin: the rules of
// StagePipeline (stage_pipeline.h), which has the values, the functions and the threads.
//
// An item is begun by a stage, ends in it, and then waits for the next. It ends in stage `measured`
// when it has room in the memory, too, and begins in stage `grows` when it has room for what it
// comes to there. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "trainer/pipeline/stage_clock.h"

namespace halograph {

inline constexpr int64_t kNoBound = std::numeric_limits<int64_t>::max();

// What an item comes to.
struct ItemBytes {
  int64_t measured = 0;  // from stage `measured` on
  int64_t more = 0;      // besides, from stage `grows` on

  [[nodiscard]] int64_t all() const { return measured + more; }
};

// What bounds a stage.
struct StageBounds {
  int64_t at_once = 1;       // items that are begun and have not ended
  int64_t depth = kNoBound;  // items that it has begun and the next stage has not
  int64_t ahead = kNoBound;  // items that it has begun and that are not delivered
  int64_t admitted = -1;     // not negative: begins only so many items
};

// What bounds all of them together.
struct PipelineBounds {
  int64_t count = 0;  // of items
  // Bytes of the items that are measured and not delivered. Those that have not grown may take
  // `share` of it, and no more than leaves room for two to grow; but in any case an eighth.
  int64_t memory = kNoBound;
  int64_t share = kNoBound;
  int64_t always = 1;   // so many items nearest delivery have room in any case; 1 at least
  size_t measured = 0;  // the stage
  size_t grows = std::numeric_limits<size_t>::max();  // the stage, behind it; or none
};

class StageProgress {
 public:
  // Requires a stage.
  StageProgress(std::vector<StageBounds> stages, PipelineBounds bounds)
      : stages_(std::move(stages)), bounds_(bounds), lanes_(stages_.size()) {}

  // Whether the stage's next item may begin.
  [[nodiscard]] bool CanBegin(size_t stage) const;
  // Its index. Requires CanBegin.
  int64_t Begin(size_t stage);
  // Item `index` has been through the stage. In stage `measured`, where it is known what it comes
  // to, it may wait for room.
  void End(size_t stage, int64_t index, ItemBytes bytes);
  // It failed there: nothing behind it is begun.
  void Fail(size_t stage, int64_t index);
  // The first item has been taken, which was through all stages.
  void Deliver();
  // Nothing more is begun.
  void Close() { closed_ = true; }

  // As StagePipeline's.
  void Admit(size_t stage, int64_t end);

  // Whether the stage begins no item any more and none is under way in it.
  [[nodiscard]] bool IsOver(size_t stage) const;
  // How a thread of the stage spends its time that finds nothing to do.
  [[nodiscard]] StageState Idle(size_t stage) const;
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] int64_t delivered() const { return delivered_; }
  // The next item to be delivered has been through all stages, or has failed.
  [[nodiscard]] bool FrontIsReady() const { return FrontHasFailed() || FrontIsThrough(); }
  [[nodiscard]] bool FrontHasFailed() const { return failed_ == delivered_; }
  // The first item that failed, so far; else kNoBound.
  [[nodiscard]] int64_t failed() const { return failed_; }
  // Whether all items up to `index` that will ever be have been through the stage.
  [[nodiscard]] bool AllAreThrough(size_t stage, int64_t index) const;

 private:
  struct Item {
    size_t through = 0;  // stages
    bool waits = false;  // for room
    bool grown = false;
    ItemBytes bytes = {};
  };
  // Of a stage.
  struct Lane {
    int64_t next = 0;       // that it will begin
    int64_t under_way = 0;  // begun, and not ended
    int64_t waiting = 0;    // of these: for room
  };

  // Items from here on are not to be delivered.
  [[nodiscard]] int64_t EndOfItems() const;
  [[nodiscard]] bool Finished(size_t stage) const;
  [[nodiscard]] bool HasItem(size_t stage) const;
  [[nodiscard]] bool IsFull(size_t stage) const;
  [[nodiscard]] bool HasFront(size_t stage) const;
  [[nodiscard]] bool HasRoom(size_t stage) const;
  [[nodiscard]] bool MayGrow(int64_t index) const;
  [[nodiscard]] bool FitsMeasured(const ItemBytes& bytes) const;
  [[nodiscard]] bool GoesInAnyCase(int64_t index) const {
    return index < delivered_ + bounds_.always;
  }
  [[nodiscard]] bool FrontIsThrough() const;
  Item& ItemOf(int64_t index) { return items_[static_cast<size_t>(index - delivered_)]; }
  [[nodiscard]] const Item& ItemOf(int64_t index) const {
    return items_[static_cast<size_t>(index - delivered_)];
  }
  void GiveRoom();

  std::vector<StageBounds> stages_;
  const PipelineBounds bounds_;
  std::vector<Lane> lanes_;
  std::deque<Item> items_;  // from delivered_ on, those that are begun
  int64_t delivered_ = 0;
  int64_t with_room_ = 0;  // items that have, or had, room
  int64_t held_ = 0;       // bytes that were measured, of items that have room
  int64_t grown_ = 0;      // bytes besides
  int64_t failed_ = kNoBound;
  bool closed_ = false;
};

}  // namespace halograph
