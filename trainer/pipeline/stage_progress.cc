#include "trainer/pipeline/stage_progress.h"

#include <algorithm>

namespace halograph {

int64_t StageProgress::EndOfItems() const { return std::min(bounds_.count, failed_); }

bool StageProgress::Finished(size_t stage) const {
  return closed_ || lanes_[stage].next >= EndOfItems();
}

// The stage's next item has come to it.
bool StageProgress::HasItem(size_t stage) const {
  if (stage == 0) return true;
  const auto at = static_cast<size_t>(lanes_[stage].next - delivered_);
  return at < items_.size() && items_[at].through == stage;
}

bool StageProgress::IsFull(size_t stage) const {
  return lanes_[stage].under_way >= stages_[stage].at_once;
}

// The item that all wait for is under way in it.
bool StageProgress::HasFront(size_t stage) const {
  return delivered_ < lanes_[stage].next && ItemOf(delivered_).through == stage &&
         !ItemOf(delivered_).waits && failed_ != delivered_;
}

// Behind it, for its next item.
bool StageProgress::HasRoom(size_t stage) const {
  const int64_t next = lanes_[stage].next;
  const bool last = stage + 1 == stages_.size();
  const int64_t taken = last ? delivered_ : lanes_[stage + 1].next;
  return next - taken < stages_[stage].depth && next - delivered_ < stages_[stage].ahead;
}

bool StageProgress::CanBegin(size_t stage) const {
  const int64_t admitted = stages_[stage].admitted;
  return !Finished(stage) && HasItem(stage) && !IsFull(stage) && HasRoom(stage) &&
         (admitted < 0 || lanes_[stage].next < admitted) &&
         (stage != bounds_.grows || MayGrow(lanes_[stage].next));
}

bool StageProgress::MayGrow(int64_t index) const {
  return ItemOf(index).bytes.more <= bounds_.memory - held_ - grown_ || GoesInAnyCase(index);
}

int64_t StageProgress::Begin(size_t stage) {
  if (stage == 0) items_.emplace_back();
  if (stage == bounds_.grows) {
    Item& item = ItemOf(lanes_[stage].next);
    item.grown = true;
    grown_ += item.bytes.more;
  }
  ++lanes_[stage].under_way;
  return lanes_[stage].next++;
}

void StageProgress::End(size_t stage, int64_t index, ItemBytes bytes) {
  Item& item = ItemOf(index);
  if (stage == bounds_.measured) {
    item.bytes = bytes;
    item.waits = true;
    ++lanes_[stage].waiting;
    return GiveRoom();
  }
  item.through = stage + 1;
  --lanes_[stage].under_way;
}

bool StageProgress::FitsMeasured(const ItemBytes& bytes) const {
  const int64_t two = std::min(bytes.more, bounds_.memory / 2) * 2;
  const int64_t share = std::min(bounds_.share, std::max(bounds_.memory / 8, bounds_.memory - two));
  return bytes.measured <= std::min(share - held_, bounds_.memory - held_ - grown_);
}

// In order, so that none keeps the room that one before it needs.
void StageProgress::GiveRoom() {
  Lane& lane = lanes_[bounds_.measured];
  while (with_room_ - delivered_ < std::ssize(items_)) {
    Item& item = ItemOf(with_room_);
    if (!item.waits || (!FitsMeasured(item.bytes) && !GoesInAnyCase(with_room_))) return;
    item.waits = false;
    item.through = bounds_.measured + 1;
    held_ += item.bytes.measured;
    ++with_room_;
    --lane.waiting;
    --lane.under_way;
  }
}

void StageProgress::Fail(size_t stage, int64_t index) {
  --lanes_[stage].under_way;
  failed_ = std::min(failed_, index);
}

void StageProgress::Deliver() {
  const Item& front = items_.front();
  held_ -= front.bytes.measured;
  if (front.grown) grown_ -= front.bytes.more;
  items_.pop_front();
  ++delivered_;
  GiveRoom();
}

void StageProgress::Admit(size_t stage, int64_t end) {
  stages_[stage].admitted = std::max(stages_[stage].admitted, end);
}

bool StageProgress::IsOver(size_t stage) const {
  // What waits for room is not worked on.
  return Finished(stage) && lanes_[stage].under_way == lanes_[stage].waiting;
}

StageState StageProgress::Idle(size_t stage) const {
  if (HasFront(stage)) return StageState::kBusy;
  if (IsFull(stage)) return lanes_[stage].waiting > 0 ? StageState::kBlocked : StageState::kBusy;
  if (Finished(stage)) return StageState::kStarved;
  const int64_t admitted = stages_[stage].admitted;
  const bool may = admitted < 0 || lanes_[stage].next < admitted;
  return HasItem(stage) && may ? StageState::kBlocked : StageState::kStarved;
}

bool StageProgress::FrontIsThrough() const {
  return !items_.empty() && items_.front().through == stages_.size();
}

bool StageProgress::AllAreThrough(size_t stage, int64_t index) const {
  const int64_t count = std::min(index, EndOfItems() - 1) + 1 - delivered_;
  if (count > std::ssize(items_)) return false;
  return std::all_of(items_.begin(), items_.begin() + std::max<int64_t>(0, count),
                     [&](const Item& item) { return item.through > stage; });
}

}  // namespace halograph
