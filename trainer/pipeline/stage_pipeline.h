// Items 0, 1, 2, ... that go through stages, one after the other, and are delivered in that order.
// Stages overlap: each has threads of its own, which begin items in order, so that the one nearest
// delivery comes first. A stage whose work is mostly waiting for others starts its calls and does
// not wait: its threads go on with whatever has been answered, and more items are under way than it
// has threads. Bounds, none of which ever holds up the next item to be delivered:
//
//   at_once of a stage: so many items at most are under way in it
//   depth   of a stage: so many items at most it has begun that the next stage has not
//   ahead   so many items at most are in the last stages, from `ready` on, or ready to be taken
//   memory  what all items between their measuring and their delivery come to; half of it at most
//           what they come to before stage `grows`. An item without room stays under way in the
//           stage that measured it, or does not begin in `grows`; the `always` items nearest
//           delivery go whatever they come to
//
// With `ahead` 0 nothing is made ahead, and no thread started: Next makes the item.
//
// Next, AwaitStage, Admit, Limit and Close are for one consumer thread; a stage's function is
// called by its threads, one item each.
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

#include "client/started.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "trainer/pipeline/stage_clock.h"
#include "trainer/pipeline/stage_progress.h"

namespace halograph {

// Starts what an item needs, and does not wait for it. `done` is called once, by what was given to
// `post` or before this returns; the item is the function's until then. Posted work is run by the
// stage's threads, and throws nothing; a CallContext takes `post` as it is (client/started.h). Nor
// is anything thrown once something is under way.
template <typename T>
using StartItem =
    std::function<void(int64_t index, T* item, const PostWork& post, StatusDone done)>;

template <typename T>
struct PipelineStage {
  std::string name;
  std::function<Status(int64_t index, T* item)> run = {};  // this one or `start`
  StartItem<T> start = {};
  size_t at_once = 0;        // items; 0: as many as threads
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
  int64_t always = 1;    // so many items nearest delivery go whatever they come to; 1 at least
  int64_t together = 1;  // so many items are made together, and must fit together
  // What an item comes to, known after stage `measured`; null: nothing.
  std::function<ItemBytes(const T& item)> bytes = {};
  size_t measured = 0;
  size_t grows = std::numeric_limits<size_t>::max();  // a stage behind it; or none
  // Told once, of the memory that the first item needs that does not fit, `together` of it. By any
  // thread; null: nobody.
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
        threads_of_(ThreadsOf()),
        clock_(threads_of_, options_.now),
        wakes_(stages_.size()),
        working_(threads_of_),
        posted_(stages_.size()),
        progress_(BoundsOfStages(), {.count = options_.count,
                                     .memory = options_.memory,
                                     .share = ShareOfMemory(),
                                     .always = options_.always,
                                     .measured = options_.measured,
                                     .grows = options_.grows}) {
    if (options_.ahead == 0 || options_.count == 0) return;
    for (size_t s = 0; s < stages_.size(); ++s) {
      for (size_t i = 0; i < threads_of_[s]; ++i)
        threads_.emplace_back([this, s, i] { Work(s, i); });
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
    if (taken_ == options_.count && !progress_.closed()) return std::optional<T>();
    if (options_.ahead == 0) {
      if (progress_.closed()) return Closed();
      const int64_t index = taken_;
      lock.Unlock();
      return MakeNow(index);
    }
    ready_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) {
      return progress_.closed() || progress_.FrontIsReady();
    });
    if (progress_.closed()) return Closed();
    if (progress_.FrontHasFailed()) {
      failure_ = error_;
      return failure_;
    }
    std::optional<T> item(std::move(*items_.front()));
    items_.pop_front();
    ++taken_;
    progress_.Deliver();
    lock.Unlock();
    WakeAll();
    return item;
  }

  // Lets a stage that has `admitted` begin all items below `end`.
  void Admit(size_t stage, int64_t end) {
    {
      const MutexLock lock(mutex_);
      progress_.Admit(stage, end);
    }
    wakes_[stage].NotifyAll();
  }

  // From now on at most so many threads of the stage work; 1 does at least.
  void Limit(size_t stage, size_t threads) {
    {
      const MutexLock lock(mutex_);
      working_[stage] = std::max<size_t>(1, threads);
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
      return progress_.closed() || progress_.AllAreThrough(stage, index);
    });
  }

  // That the stage was made with.
  [[nodiscard]] size_t threads(size_t stage) const { return threads_of_[stage]; }
  // Of each stage, in order: means over its threads.
  [[nodiscard]] std::vector<StageSeconds> Seconds() const { return clock_.Read(); }
  // As sums over the threads (stage_clock.h).
  [[nodiscard]] std::vector<StageSeconds> ThreadSeconds() const { return clock_.ReadThreads(); }
  [[nodiscard]] const std::vector<Stage>& stages() const { return stages_; }

  // Begins nothing more, waits for what is under way, joins the threads. Idempotent. What a stage
  // may be waiting on must be ended first, or this waits for it.
  void Close() {
    {
      const MutexLock lock(mutex_);
      progress_.Close();
    }
    WakeAll();
    ready_.NotifyAll();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  static Status Closed() { return Cancelled("minibatch pipeline was closed"); }

  // What items come to before they grow has one share of the memory; if they do, half.
  [[nodiscard]] int64_t Shares() const { return options_.grows < stages_.size() ? 2 : 1; }
  [[nodiscard]] int64_t ShareOfMemory() const { return options_.memory / Shares(); }
  [[nodiscard]] int64_t AheadOf(size_t s) const {
    const bool counts = s + 1 == stages_.size() || s >= options_.ready;
    return counts ? options_.ahead : kNoBound;
  }
  [[nodiscard]] int64_t AtOnce(size_t s) const {
    const size_t wanted = stages_[s].at_once == 0 ? stages_[s].threads : stages_[s].at_once;
    const int64_t most = std::min({stages_[s].depth, AheadOf(s), options_.count});
    return std::max<int64_t>(1, std::min(static_cast<int64_t>(wanted), most));
  }
  [[nodiscard]] std::vector<size_t> ThreadsOf() const {
    std::vector<size_t> counts;
    for (size_t s = 0; s < stages_.size(); ++s) {
      const size_t most = options_.ahead == 0 ? 1 : static_cast<size_t>(AtOnce(s));
      counts.push_back(std::clamp<size_t>(stages_[s].threads, 1, most));
    }
    return counts;
  }
  [[nodiscard]] std::vector<StageBounds> BoundsOfStages() const {
    std::vector<StageBounds> bounds;
    for (size_t s = 0; s < stages_.size(); ++s) {
      bounds.push_back({.at_once = AtOnce(s),
                        .depth = stages_[s].depth,
                        .ahead = AheadOf(s),
                        .admitted = stages_[s].admitted});
    }
    return bounds;
  }

  StatusOr<std::optional<T>> MakeNow(int64_t index) {
    T item = {};
    Status made;
    for (size_t s = 0; s < stages_.size() && made.ok(); ++s) {
      clock_.Change(s, StageState::kStarved, StageState::kBusy);
      made = AwaitPosted<Status>([&](const PostWork& post, StatusDone done) {
        Start(s, index, &item, post, std::move(done));
      });
      clock_.Change(s, StageState::kBusy, StageState::kStarved);
      if (made.ok() && s == options_.measured) static_cast<void>(Measure(item));
    }
    const MutexLock lock(mutex_);
    if (!made.ok()) {
      failure_ = made;
      return failure_;
    }
    ++taken_;
    return std::optional<T>(std::move(item));
  }

  // Of thread `number` of the stage.
  void Work(size_t s, size_t number) {
    StageState state = StageState::kStarved;
    const auto change = [&](StageState to) { clock_.Change(s, std::exchange(state, to), to); };
    for (;;) {
      std::function<void()> work;
      {
        const MutexLock lock(mutex_);
        wakes_[s].Wait(mutex_, [&]() HG_REQUIRES(mutex_) {
          if (progress_.IsOver(s)) return true;
          const bool works = number < working_[s];
          if (works && (!posted_[s].empty() || progress_.CanBegin(s))) return true;
          change(works ? progress_.Idle(s) : StageState::kParked);
          return false;
        });
        // What is answered goes before what is begun: it is nearer delivery.
        if (!posted_[s].empty()) {
          work = std::move(posted_[s].front());
          posted_[s].pop_front();
        } else if (progress_.CanBegin(s)) {
          work = Begin(s);
        } else {
          return change(StageState::kStarved);
        }
        change(StageState::kBusy);
      }
      work();
    }
  }

  std::function<void()> Begin(size_t s) HG_REQUIRES(mutex_) {
    const int64_t index = progress_.Begin(s);
    if (s > 0) wakes_[s - 1].NotifyAll();
    if (s == 0) items_.push_back(std::make_unique<T>());
    T* const item = items_[static_cast<size_t>(index - progress_.delivered())].get();
    // Nobody else touches the item until it has ended: it is delivered after its last stage.
    return [this, s, index, item] {
      Start(
          s, index, item, [this, s](std::function<void()> work) { Post(s, std::move(work)); },
          [this, s, index, item](Status made) { End(s, index, *item, std::move(made)); });
    };
  }

  void Start(size_t s, int64_t index, T* item, const PostWork& post, StatusDone done) {
    Status failed;
    try {
      if (stages_[s].start) return stages_[s].start(index, item, post, done);
      failed = stages_[s].run(index, item);
    } catch (const std::exception& error) {
      failed = Internal("preparing minibatch {} ({}): {}", index, stages_[s].name, error.what());
    }
    done(std::move(failed));
  }

  // Notified under the lock: the pipeline may be gone when it is free.
  void Post(size_t s, std::function<void()> work) {
    const MutexLock lock(mutex_);
    posted_[s].push_back(std::move(work));
    wakes_[s].NotifyAll();
  }

  void End(size_t s, int64_t index, const T& item, Status made) {
    ItemBytes bytes;
    if (made.ok() && s == options_.measured) {
      made = RunCaught([&] {
        bytes = Measure(item);
        return OkStatus();
      });
    }
    const MutexLock lock(mutex_);
    if (made.ok()) {
      progress_.End(s, index, bytes);
    } else {
      if (index < progress_.failed()) error_ = std::move(made);
      progress_.Fail(s, index);
    }
    WakeAll();
    ready_.NotifyAll();
  }

  [[nodiscard]] ItemBytes Measure(const T& item) {
    if (!options_.bytes) return {};
    const ItemBytes bytes = options_.bytes(item);
    const int64_t measured = options_.together * bytes.measured;
    const int64_t all = options_.together * bytes.all();
    const bool fits = measured <= ShareOfMemory() && all <= options_.memory;
    if (!fits && options_.too_large) {
      MutexLock lock(mutex_);
      const bool told = std::exchange(told_, true);
      lock.Unlock();
      if (!told) options_.too_large(std::max(Shares() * measured, all));
    }
    return bytes;
  }

  void WakeAll() {
    for (CondVar& wake : wakes_) wake.NotifyAll();
  }

  const std::vector<Stage> stages_;
  const PipelineOptions<T> options_;
  const std::vector<size_t> threads_of_;
  StageClock clock_;
  Mutex mutex_;
  CondVar ready_;               // for the consumer: an item has ended in a stage, or failed
  std::vector<CondVar> wakes_;  // for the threads of each stage
  std::vector<size_t> working_ HG_GUARDED_BY(mutex_);  // threads of each that may
  std::vector<std::deque<std::function<void()>>> posted_ HG_GUARDED_BY(mutex_);  // to each
  StageProgress progress_ HG_GUARDED_BY(mutex_);
  // Those of progress_. Their places do not change while stages work on them.
  std::deque<std::unique_ptr<T>> items_ HG_GUARDED_BY(mutex_);
  int64_t taken_ HG_GUARDED_BY(mutex_) = 0;
  Status error_ HG_GUARDED_BY(mutex_);    // of the first item that failed, so far
  Status failure_ HG_GUARDED_BY(mutex_);  // once it is delivered
  bool told_ HG_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace halograph
