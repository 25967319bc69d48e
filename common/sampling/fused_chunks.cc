#include "common/sampling/fused_chunks.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>

#include "common/sampling/request.h"

namespace halograph {
namespace {

using Sample = std::function<FusedOutcome(int64_t, FusedRoom*, NeighborPicks*)>;
using Take = std::function<FusedOutcome(int64_t, const NeighborPicks&)>;

constexpr int64_t kSlotsPerThread = 3;
constexpr int64_t kChunkEdges = 8192;
constexpr int64_t kLeastDestinations = 64;
constexpr int64_t kMostDestinations = 1024;

// What the threads of one call share. Helpers hold it by shared_ptr: one that starts after the call
// has returned finds it closed and touches nothing else.
class Chunks {
 public:
  Chunks(int64_t chunks, std::vector<NeighborPicks>* slots, const Sample& sample, const Take& take)
      : chunks_(chunks), slots_(slots), sampled_(slots->size()), sample_(sample), take_(take) {}

  // The pool's threads: sample until no chunk is left.
  void Help() {
    std::unique_lock lock(mutex_);
    if (closed_) return;
    FusedRoom room;
    ++helping_;
    for (;;) {
      moved_.wait(lock, [&] { return closed_ || next_ == chunks_ || CanSample(); });
      if (closed_ || next_ == chunks_) break;
      SampleNext(&lock, &room);
    }
    --helping_;
    moved_.notify_all();
  }

  // The caller: takes what is ready, else samples, else waits.
  [[nodiscard]] ChunksOutcome Run(FusedRoom* room) {
    std::unique_lock lock(mutex_);
    while (!closed_ && taken_ < chunks_) {
      if (sampled_[Slot(taken_)].ready) {
        TakeNext(&lock);
      } else if (CanSample()) {
        SampleNext(&lock, room);
      } else {
        moved_.wait(lock);
      }
    }
    closed_ = true;
    moved_.notify_all();
    moved_.wait(lock, [&] { return helping_ == 0; });
    if (error_) std::rethrow_exception(error_);
    return outcome_;
  }

 private:
  struct Sampled {
    bool ready = false;  // and not yet taken
    FusedOutcome outcome;
  };

  [[nodiscard]] size_t Slot(int64_t chunk) const {
    return static_cast<size_t>(chunk) % slots_->size();
  }
  [[nodiscard]] bool CanSample() const {
    return next_ < chunks_ && next_ < taken_ + std::ssize(*slots_);
  }

  void SampleNext(std::unique_lock<std::mutex>* lock, FusedRoom* room) {
    const int64_t chunk = next_++;
    Sampled sampled{.ready = true, .outcome = {}};
    Unlocked(lock, [&] { sampled.outcome = sample_(chunk, room, &(*slots_)[Slot(chunk)]); });
    sampled_[Slot(chunk)] = sampled;
    if (chunk == taken_) moved_.notify_all();
  }

  void TakeNext(std::unique_lock<std::mutex>* lock) {
    const size_t slot = Slot(taken_);
    FusedOutcome outcome = sampled_[slot].outcome;
    if (outcome.done()) Unlocked(lock, [&] { outcome = take_(taken_, (*slots_)[slot]); });
    sampled_[slot].ready = false;
    if (outcome.done()) {
      ++taken_;
    } else {
      outcome_ = {.outcome = outcome, .chunk = taken_};
      closed_ = true;
    }
    moved_.notify_all();
  }

  // Runs `work` without the lock; what it throws ends the call.
  template <typename Work>
  void Unlocked(std::unique_lock<std::mutex>* lock, const Work& work) {
    std::exception_ptr error;
    lock->unlock();
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    lock->lock();
    if (!error) return;
    if (!error_) error_ = error;
    closed_ = true;
    moved_.notify_all();
  }

  const int64_t chunks_;
  std::vector<NeighborPicks>* slots_;  // chunk c is in slot c % slots; the caller's, as below
  std::vector<Sampled> sampled_;       // per slot
  const Sample& sample_;
  const Take& take_;
  std::mutex mutex_;
  std::condition_variable moved_;
  int64_t next_ = 0;     // to be sampled
  int64_t taken_ = 0;    // to be taken; changed by the caller only
  int64_t helping_ = 0;  // threads that use what is the caller's
  bool closed_ = false;
  ChunksOutcome outcome_;
  std::exception_ptr error_;
};

}  // namespace

int64_t ChunkDestinations(int32_t fanout) {
  if (fanout == kFullNeighborhood) return kLeastDestinations;
  return std::clamp(kChunkEdges / std::max<int64_t>(fanout, 1), kLeastDestinations,
                    kMostDestinations);
}

ChunksOutcome OrderedChunks(ThreadPool* pool, int64_t chunks, FusedRoom* room,
                            std::vector<NeighborPicks>* slots, const Sample& sample,
                            const Take& take) {
  const int64_t helpers =
      pool == nullptr ? 0 : std::min(static_cast<int64_t>(pool->threads()), chunks - 1);
  const auto needed = static_cast<size_t>(std::max<int64_t>(1, (helpers + 1) * kSlotsPerThread));
  if (slots->size() < needed) slots->resize(needed);
  const auto work = std::make_shared<Chunks>(chunks, slots, sample, take);
  for (int64_t i = 0; i < helpers; ++i) {
    if (!pool->TrySubmit([work] { work->Help(); })) break;
  }
  return work->Run(room);
}

}  // namespace halograph
