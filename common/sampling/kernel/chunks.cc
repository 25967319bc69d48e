#include "common/sampling/kernel/chunks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/sampling/request.h"
#include "hwy/cache_control.h"

namespace halograph {
namespace {

constexpr size_t kSlotsPerThread = 8;
constexpr int64_t kChunkEdges = 2048;
constexpr int64_t kLeastDestinations = 32;
constexpr int64_t kMostDestinations = 512;
// Looks at what another thread is about to change, before sleeping; each ends by giving the core
// away. Where the core comes back late, there is more to do than cores: no more looks then.
constexpr int kLooks = 64;
constexpr int kPausesALook = 16;
constexpr std::chrono::microseconds kLate(20);

}  // namespace

// Threads hold it by shared_ptr: one that starts late finds it closed and touches nothing else.
//   1. chunks_, sample_ and the slots change only while open_ is false and working_ is 0.
//   2. A thread looks at them only between working_ + 1 followed by a look at open_, and working_ -
//      1; so when the caller has cleared open_ and then seen working_ at 0, none does.
//   3. Chunk c is in slot c % slots, sampled only when chunk c - slots has been taken.
//   4. moved_ grows after every change that somebody may wait for.
class ChunkCrew::Shared {
 public:
  explicit Shared(size_t slots) : slots_(slots) {}

  // The pool's threads.
  void Help() {
    if (closed_) return;
    FusedRoom room;
    for (;;) {
      const uint64_t seen = moved_;
      if (closed_) return;
      if (!open_ || !SampleOpen(&room)) WaitBeyond(seen);
    }
  }

  void Close() {
    closed_ = true;
    Moved();
  }

  [[nodiscard]] ChunksOutcome Run(int64_t chunks, const Sample& sample, const Take& take,
                                  FusedRoom* room) {
    chunks_ = chunks;
    sample_ = &sample;
    for (Slot& slot : slots_) slot.sampled = 0;
    next_ = 0;
    taken_ = 0;
    open_ = true;
    Moved();
    ChunksOutcome outcome;
    std::exception_ptr error;
    try {
      outcome = TakeAll(take, room);
    } catch (...) {
      error = std::current_exception();
    }
    open_ = false;
    for (;;) {
      const uint64_t seen = moved_;
      if (working_ == 0) break;
      WaitBeyond(seen);
    }
    if (error) std::rethrow_exception(error);
    return outcome;
  }

 private:
  struct Slot {
    std::atomic<int64_t> sampled{0};  // number of the chunk in it, plus 1; all else is behind it
    FusedOutcome outcome;
    std::exception_ptr error;
  };

  [[nodiscard]] size_t SlotOf(int64_t chunk) const {
    return static_cast<size_t>(chunk) % slots_.size();
  }

  [[nodiscard]] ChunksOutcome TakeAll(const Take& take, FusedRoom* room) {
    for (int64_t chunk = 0; chunk < chunks_;) {
      const uint64_t seen = moved_;
      Slot& slot = slots_[SlotOf(chunk)];
      if (slot.sampled == chunk + 1) {
        if (slot.error) std::rethrow_exception(slot.error);
        const FusedOutcome outcome =
            slot.outcome.done() ? take(chunk, SlotOf(chunk)) : slot.outcome;
        if (!outcome.done()) return {.outcome = outcome, .chunk = chunk};
        taken_ = ++chunk;
        Moved();
      } else if (!SampleNext(room)) {
        WaitBeyond(seen);
      }
    }
    return {};
  }

  // False if no chunk was sampled.
  [[nodiscard]] bool SampleOpen(FusedRoom* room) {
    ++working_;
    bool sampled = false;
    while (open_ && SampleNext(room)) sampled = true;
    --working_;
    if (!open_) Moved();  // the caller may wait for this thread
    return sampled;
  }

  // False if none is left, or the slots are full.
  [[nodiscard]] bool SampleNext(FusedRoom* room) {
    int64_t chunk = next_;
    do {
      if (chunk >= chunks_ || chunk >= taken_ + std::ssize(slots_)) return false;
    } while (!next_.compare_exchange_weak(chunk, chunk + 1));
    Slot& slot = slots_[SlotOf(chunk)];
    slot.error = nullptr;
    try {
      slot.outcome = (*sample_)(chunk, SlotOf(chunk), room);
    } catch (...) {
      slot.error = std::current_exception();
    }
    slot.sampled = chunk + 1;
    Moved();
    return true;
  }

  void Moved() {
    ++moved_;
    if (sleeping_ == 0) return;
    { const MutexLock lock(mutex_); }  // who found nothing moved is asleep by now
    wake_.NotifyAll();
  }

  // Returns when something has moved since moved_ was `seen`.
  void WaitBeyond(uint64_t seen) {
    for (int look = 0; look < kLooks && !crowded_; ++look) {
      for (int i = 0; i < kPausesALook; ++i) {
        if (moved_ != seen) return;
        hwy::Pause();
      }
      const auto before = std::chrono::steady_clock::now();
      std::this_thread::yield();
      if (std::chrono::steady_clock::now() - before > kLate) crowded_ = true;
    }
    const MutexLock lock(mutex_);
    ++sleeping_;
    wake_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return moved_ != seen; });
    --sleeping_;
  }

  std::vector<Slot> slots_;
  int64_t chunks_ = 0;
  const Sample* sample_ = nullptr;  // the caller's
  std::atomic<int64_t> next_{0};    // to be sampled
  std::atomic<int64_t> taken_{0};
  std::atomic<bool> open_{false};
  std::atomic<bool> closed_{false};
  std::atomic<int> working_{0};
  std::atomic<uint64_t> moved_{0};
  std::atomic<int> sleeping_{0};
  std::atomic<bool> crowded_{false};  // as long as the crew is together
  Mutex mutex_;
  CondVar wake_;
};

int64_t ChunkDestinations(int32_t fanout) {
  if (fanout == kFullNeighborhood) return kLeastDestinations;
  return std::clamp(kChunkEdges / std::max<int64_t>(fanout, 1), kLeastDestinations,
                    kMostDestinations);
}

ChunkCrew::~ChunkCrew() {
  if (shared_ != nullptr) shared_->Close();
}

size_t ChunkCrew::slots() const {
  return ((pool_ == nullptr ? 0 : pool_->threads()) + 1) * kSlotsPerThread;
}

void ChunkCrew::Wake() {
  if (shared_ != nullptr) return;
  shared_ = std::make_shared<Shared>(slots());
  if (pool_ != nullptr) pool_->MoveAside();
  for (size_t i = 0; pool_ != nullptr && i < pool_->threads(); ++i) {
    if (!pool_->TrySubmit([shared = shared_] { shared->Help(); })) break;
  }
}

ChunksOutcome ChunkCrew::Run(int64_t chunks, const Sample& sample, const Take& take) {
  Wake();
  return shared_->Run(chunks, sample, take, room_);
}

}  // namespace halograph
