// A value that takes long to read, or may hang: a thread of its own reads it, and who asks gets at
// once what was read last. It is read only if somebody asks: at most once in `pause`, and for at
// most a twentieth of the time. Thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "common/base/cancel.h"
#include "common/base/mutex.h"

namespace halograph::server {

template <typename Value>
class BackgroundValue {
 public:
  using Clock = std::chrono::steady_clock;
  // A reading rests at least so many times as long as it took, but no longer than that: one that
  // hung is not all that is known for hours.
  static constexpr int kRest = 19;
  static constexpr std::chrono::minutes kLongestRest{5};
  // The end waits no longer for a reading that runs.
  static constexpr std::chrono::seconds kEnd{1};

  // `read` runs on a thread, and does not throw. It owns what it reads, since a reading that hangs
  // in the kernel is left behind at the end; others end soon once their token is cancelled.
  BackgroundValue(std::function<Value(const CancelToken& ending)> read,
                  std::chrono::nanoseconds pause)
      : shared_(std::make_shared<Shared>(std::move(read), pause)) {}
  ~BackgroundValue() {
    shared_->ending.Cancel();
    const MutexLock lock(shared_->mutex);
    shared_->ended.WaitFor(shared_->mutex, kEnd,
                           [this]() HG_REQUIRES(shared_->mutex) { return !shared_->reads; });
  }
  BackgroundValue(const BackgroundValue&) = delete;
  BackgroundValue& operator=(const BackgroundValue&) = delete;

  // Null until the first reading has ended, which the first call begins.
  [[nodiscard]] std::shared_ptr<const Value> Last() {
    const MutexLock lock(shared_->mutex);
    if (!shared_->reads && Clock::now() >= shared_->next) Begin();
    return shared_->value;
  }

 private:
  struct Shared {
    Shared(std::function<Value(const CancelToken& ending)> how, std::chrono::nanoseconds pauses)
        : read(std::move(how)), pause(pauses) {}

    void Read() {
      const Clock::time_point begin = Clock::now();
      auto fresh = std::make_shared<const Value>(read(ending));
      const Clock::time_point end = Clock::now();
      const Clock::duration rest = std::min<Clock::duration>(kRest * (end - begin), kLongestRest);
      const MutexLock lock(mutex);
      value = std::move(fresh);
      next = std::max(begin + pause, end + rest);
      reads = false;
      ended.NotifyAll();
    }

    const std::function<Value(const CancelToken& ending)> read;
    const std::chrono::nanoseconds pause;
    CancelToken ending;
    Mutex mutex;
    CondVar ended;  // a reading
    std::shared_ptr<const Value> value HG_GUARDED_BY(mutex);
    bool reads HG_GUARDED_BY(mutex) = false;
    Clock::time_point next HG_GUARDED_BY(mutex);  // when a reading may begin
  };

  void Begin() HG_REQUIRES(shared_->mutex) {
    try {
      std::thread([shared = shared_] { shared->Read(); }).detach();
      shared_->reads = true;
    } catch (const std::system_error&) {  // no thread now: what was read last stays
      shared_->next = Clock::now() + shared_->pause;
    }
  }

  const std::shared_ptr<Shared> shared_;
};

}  // namespace halograph::server
