// Items 0, 1, 2, ... that go through stages, one after the other, and are delivered in that order.
// Stages overlap: each has threads of its own, which begin items in order, so that the one nearest
// delivery comes first. Bounds, none of which ever holds up the next item to be delivered:
//
//   depth   of a stage: so many items at most it has begun that the next stage has not
//   ahead   so many items at most are in the last stages, from `ready` on, or ready to be taken
//   memory  what all items between their measuring and their delivery come to. An item without
//           room waits with the thread that measured it; the `always` items nearest delivery go
//           whatever they come to
//
// With `ahead` 0 nothing is made ahead, and no thread started: Next makes the item.
//
// Next, AwaitStage, Admit and Close are for one consumer thread; a stage's function is called by
// its threads, one item each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "trainer/pipeline/stage_clock.h"

namespace halograph {

inline constexpr int64_t kNoBound = std::numeric_limits<int64_t>::max();

template <typename T>
struct PipelineStage {
  std::string name;
  std::function<Status(int64_t index, T* item)> run;
  size_t threads = 1;        // more than may be busy at once are not started
  int64_t depth = kNoBound;  // 1 at least
  // Not negative: begins only so many items, until Admit allows more.
  int64_t admitted = -1;
};

template <typename T>
struct PipelineOptions {
  int64_t count = 0;  // of items
  int64_t ahead = 4;
  size_t ready = std::numeric_limits<size_t>::max();  // a stage; the last one, if not before it
  int64_t memory = kNoBound;                          // bytes
  int64_t always = 1;  // so many items nearest delivery go whatever they come to; 1 at least
  // What an item comes to in the end, known after stage `measured`; null: nothing.
  std::function<int64_t(const T& item)> bytes = {};
  size_t measured = 0;
  // Told once, of the first item that alone comes to more than `memory`. By any thread; null:
  // nobody.
  std::function<void(int64_t bytes)> too_large = {};
  StageClock::Now now = StageClock::Steady();
};

template <typename T>
class StagePipeline {
 public:
  using Stage = PipelineStage<T>;

  // Requires a stage, and that T is default-constructible: what the first stage is given.
  StagePipeline(std::vector<Stage> stages, PipelineOptions<T> options)
      : stages_(std::move(stages)),
        options_(std::move(options)),
        clock_(ThreadCounts(), options_.now),
        wakes_(stages_.size()),
        lanes_(stages_.size()) {
    for (size_t s = 0; s < stages_.size(); ++s) lanes_[s].admitted = stages_[s].admitted;
    if (options_.ahead == 0 || options_.count == 0) return;
    const std::vector<size_t> threads = ThreadCounts();
    for (size_t s = 0; s < stages_.size(); ++s) {
      for (size_t i = 0; i < threads[s]; ++i) threads_.emplace_back([this, s] { Work(s); });
    }
  }
  ~StagePipeline() { Close(); }
  StagePipeline(const StagePipeline&) = delete;
  StagePipeline& operator=(const StagePipeline&) = delete;

  // Waits for the next item; nullopt after the last. The error of item i comes once the items
  // before it were delivered, and again from every later call; no item behind it is begun.
  //   Cancelled   after Close
  //   Internal    a stage threw: what() is in the message
  [[nodiscard]] StatusOr<std::optional<T>> Next() {
    MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    if (delivered_ == options_.count && !closed_) return std::optional<T>();
    if (options_.ahead == 0) {
      if (closed_) return Closed();
      const int64_t index = delivered_;
      lock.Unlock();
      return MakeNow(index);
    }
    ready_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return closed_ || FrontIsReady(); });
    if (closed_) return Closed();
    if (failed_ == delivered_) {
      failure_ = error_;
      return failure_;
    }
    std::optional<T> item(std::move(items_.front()->value));
    held_ -= items_.front()->bytes;
    items_.pop_front();
    ++delivered_;
    lock.Unlock();
    WakeAll();
    return item;
  }

  // Lets a stage that has `admitted` begin all items below `end`.
  void Admit(size_t stage, int64_t end) {
    {
      const MutexLock lock(mutex_);
      lanes_[stage].admitted = std::max(lanes_[stage].admitted, end);
    }
    wakes_[stage].NotifyAll();
  }

  // Waits until item `index` and all before it have been through `stage`: those of them that will
  // ever be, which an error, the last item or Close may cut short. Without threads it does not
  // wait. What keeps these items from the stage must not be the caller's to end.
  void AwaitStage(size_t stage, int64_t index) {
    if (options_.ahead == 0) return;
    const MutexLock lock(mutex_);
    ready_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) {
      return closed_ || AllAreThrough(stage, std::min(index, End() - 1));
    });
  }

  // Of each stage, in order.
  [[nodiscard]] std::vector<StageSeconds> Seconds() const { return clock_.Read(); }
  [[nodiscard]] const std::vector<Stage>& stages() const { return stages_; }
  // That each stage has, and that Seconds are means over: at least 1.
  [[nodiscard]] size_t threads(size_t stage) const { return ThreadCounts()[stage]; }

  // Begins nothing more, waits for what is running, joins the threads. Idempotent. What a stage's
  // function may be waiting on must be ended first, or this waits for it.
  void Close() {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
    }
    WakeAll();
    ready_.NotifyAll();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  struct Item {
    T value = {};
    size_t through = 0;  // stages
    int64_t bytes = 0;   // that it holds of the memory
  };
  // Of a stage.
  struct Lane {
    int64_t next = 0;  // that it will begin
    int64_t admitted = -1;
  };

  [[nodiscard]] bool CountsAsReady(size_t s) const {
    return s + 1 == stages_.size() || s >= options_.ready;
  }
  [[nodiscard]] std::vector<size_t> ThreadCounts() const {
    if (options_.ahead == 0) return std::vector<size_t>(stages_.size(), 1);
    std::vector<size_t> counts;
    for (size_t s = 0; s < stages_.size(); ++s) {
      const int64_t ahead = CountsAsReady(s) ? options_.ahead : kNoBound;
      const auto most = std::max<int64_t>(1, std::min({stages_[s].depth, ahead, options_.count}));
      const auto threads = static_cast<int64_t>(stages_[s].threads);
      counts.push_back(static_cast<size_t>(std::clamp<int64_t>(threads, 1, most)));
    }
    return counts;
  }

  static Status Closed() { return Cancelled("minibatch pipeline was closed"); }

  StatusOr<std::optional<T>> MakeNow(int64_t index) {
    T item = {};
    Status made;
    for (size_t s = 0; s < stages_.size() && made.ok(); ++s) {
      clock_.Change(s, StageState::kStarved, StageState::kBusy);
      made = RunCaught(s, index, &item);
      clock_.Change(s, StageState::kBusy, StageState::kStarved);
      if (made.ok() && s == options_.measured) static_cast<void>(Measure(item));
    }
    const MutexLock lock(mutex_);
    if (!made.ok()) {
      failure_ = made;
      return failure_;
    }
    ++delivered_;
    return std::optional<T>(std::move(item));
  }

  void Work(size_t s) {
    StageState state = StageState::kStarved;
    for (;;) {
      int64_t index = 0;
      Item* item = nullptr;
      {
        const MutexLock lock(mutex_);
        wakes_[s].Wait(mutex_, [&]() HG_REQUIRES(mutex_) {
          if (Finished(s) || CanBegin(s)) return true;
          Change(s, &state, Waiting(s));
          return false;
        });
        if (Finished(s)) return Change(s, &state, StageState::kStarved);
        index = lanes_[s].next++;
        if (s > 0 && stages_[s - 1].depth != kNoBound) wakes_[s - 1].NotifyAll();
        if (s == 0) items_.push_back(std::make_unique<Item>());
        item = items_[static_cast<size_t>(index - delivered_)].get();
        Change(s, &state, StageState::kBusy);
      }
      // Nobody else touches the item until it is through: it is delivered after its last stage.
      const Status made = RunCaught(s, index, &item->value);
      const bool measured = made.ok() && s == options_.measured;
      const int64_t bytes = measured ? Measure(item->value) : 0;
      const MutexLock lock(mutex_);
      if (!made.ok()) {
        Fail(index, made);
      } else if (!measured || TakeRoom(s, index, bytes, item, &state)) {
        item->through = s + 1;
        if (s + 1 < stages_.size()) wakes_[s + 1].NotifyAll();
        ready_.NotifyAll();
      }
    }
  }

  // Waits for room for the item that has been measured. False: it is not needed any more.
  bool TakeRoom(size_t s, int64_t index, int64_t bytes, Item* item, StageState* state)
      HG_REQUIRES(mutex_) {
    room_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) {
      if (closed_ || index >= End()) return true;
      const bool fits = bytes <= options_.memory - held_ || index < delivered_ + options_.always;
      if (measured_ == index && fits) return true;
      Change(s, state, StageState::kBlocked);
      return false;
    });
    if (closed_ || index >= End()) return false;
    ++measured_;
    held_ += bytes;
    item->bytes = bytes;
    room_.NotifyAll();
    return true;
  }

  [[nodiscard]] int64_t Measure(const T& item) {
    if (!options_.bytes) return 0;
    const int64_t bytes = options_.bytes(item);
    if (bytes > options_.memory && options_.too_large) {
      MutexLock lock(mutex_);
      const bool told = std::exchange(told_, true);
      lock.Unlock();
      if (!told) options_.too_large(bytes);
    }
    return bytes;
  }

  void Fail(int64_t index, const Status& why) HG_REQUIRES(mutex_) {
    if (index >= failed_) return;
    failed_ = index;
    error_ = why;
    for (CondVar& wake : wakes_) wake.NotifyAll();
    room_.NotifyAll();
    ready_.NotifyAll();
  }

  Status RunCaught(size_t s, int64_t index, T* item) {
    try {
      return stages_[s].run(index, item);
    } catch (const std::exception& error) {
      return Internal("preparing minibatch {} ({}): {}", index, stages_[s].name, error.what());
    }
  }

  void WakeAll() {
    for (CondVar& wake : wakes_) wake.NotifyAll();
    room_.NotifyAll();
  }

  void Change(size_t s, StageState* from, StageState to) {
    clock_.Change(s, *from, to);
    *from = to;
  }

  // Items from here on are not to be delivered.
  int64_t End() const HG_REQUIRES(mutex_) { return std::min(options_.count, failed_); }
  bool Finished(size_t s) const HG_REQUIRES(mutex_) { return closed_ || lanes_[s].next >= End(); }

  // The stage's next item has come to it.
  bool HasItem(size_t s) const HG_REQUIRES(mutex_) {
    if (s == 0) return true;
    const auto at = static_cast<size_t>(lanes_[s].next - delivered_);
    return at < items_.size() && items_[at]->through == s;
  }
  bool IsAdmitted(size_t s) const HG_REQUIRES(mutex_) {
    return lanes_[s].admitted < 0 || lanes_[s].next < lanes_[s].admitted;
  }
  bool HasRoom(size_t s) const HG_REQUIRES(mutex_) {
    const int64_t next = lanes_[s].next;
    const int64_t taken = s + 1 == stages_.size() ? delivered_ : lanes_[s + 1].next;
    return next - taken < stages_[s].depth &&
           (!CountsAsReady(s) || next - delivered_ < options_.ahead);
  }
  bool CanBegin(size_t s) const HG_REQUIRES(mutex_) {
    return HasItem(s) && IsAdmitted(s) && HasRoom(s);
  }
  StageState Waiting(size_t s) const HG_REQUIRES(mutex_) {
    return HasItem(s) && IsAdmitted(s) ? StageState::kBlocked : StageState::kStarved;
  }
  bool FrontIsReady() const HG_REQUIRES(mutex_) {
    if (failed_ == delivered_) return true;
    return !items_.empty() && items_.front()->through == stages_.size();
  }
  bool AllAreThrough(size_t s, int64_t index) const HG_REQUIRES(mutex_) {
    const int64_t count = index + 1 - delivered_;
    if (count > std::ssize(items_)) return false;
    return std::all_of(items_.begin(), items_.begin() + std::max<int64_t>(0, count),
                       [&](const auto& item) { return item->through > s; });
  }

  const std::vector<Stage> stages_;
  const PipelineOptions<T> options_;
  StageClock clock_;
  Mutex mutex_;
  CondVar ready_;               // for the consumer: an item is through a stage, or failed
  CondVar room_;                // for items that were measured
  std::vector<CondVar> wakes_;  // for the threads of each stage
  std::vector<Lane> lanes_ HG_GUARDED_BY(mutex_);
  // From delivered_ on, those that are begun. Their places do not change while stages work on them.
  std::deque<std::unique_ptr<Item>> items_ HG_GUARDED_BY(mutex_);
  int64_t delivered_ HG_GUARDED_BY(mutex_) = 0;
  int64_t measured_ HG_GUARDED_BY(mutex_) = 0;       // items that have, or had, room
  int64_t held_ HG_GUARDED_BY(mutex_) = 0;           // bytes
  int64_t failed_ HG_GUARDED_BY(mutex_) = kNoBound;  // the first item that failed, so far
  Status error_ HG_GUARDED_BY(mutex_);               // of it
  Status failure_ HG_GUARDED_BY(mutex_);             // once it is delivered
  bool told_ HG_GUARDED_BY(mutex_) = false;
  bool closed_ HG_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace halograph
