// A value that takes long to read, or may hang: a thread of its own reads it, and who asks gets at
// once what was read last. It is read at the start, and then only if somebody asks: at most once in
// `pause`, and for at most a twentieth of the time. Thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "common/base/cancel.h"
#include "common/base/mutex.h"
#include "server/runtime/housekeeper.h"

namespace halograph::server {

template <typename Value>
class BackgroundValue {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kRest = 19;  // a reading rests at least so many times as long as it took

  // `read` runs on the thread; it does not throw, and ends soon once its token is cancelled.
  BackgroundValue(std::function<Value(const CancelToken& ending)> read,
                  std::chrono::nanoseconds pause)
      : read_(std::move(read)), pause_(pause), keeper_([this] { return Round(); }) {}
  // Waits for a reading that runs.
  ~BackgroundValue() { ending_.Cancel(); }
  BackgroundValue(const BackgroundValue&) = delete;
  BackgroundValue& operator=(const BackgroundValue&) = delete;

  // Null until the first reading has ended.
  [[nodiscard]] std::shared_ptr<const Value> Last() {
    const MutexLock lock(mutex_);
    if (!std::exchange(asked_, true)) keeper_.Wake();
    return value_;
  }

 private:
  static constexpr std::chrono::hours kUnasked{1};

  // After how long the next round is due.
  std::chrono::nanoseconds Round() {
    const Clock::time_point begin = Clock::now();
    {
      const MutexLock lock(mutex_);
      if (!asked_) return kUnasked;
      if (begin < next_) return next_ - begin;
      asked_ = false;
    }
    auto value = std::make_shared<const Value>(read_(ending_));
    const Clock::time_point end = Clock::now();
    const MutexLock lock(mutex_);
    value_ = std::move(value);
    next_ = std::max(begin + pause_, end + kRest * (end - begin));
    return asked_ ? next_ - end : kUnasked;
  }

  const std::function<Value(const CancelToken& ending)> read_;
  const std::chrono::nanoseconds pause_;
  CancelToken ending_;
  Mutex mutex_;
  std::shared_ptr<const Value> value_ HG_GUARDED_BY(mutex_);
  bool asked_ HG_GUARDED_BY(mutex_) = true;       // since the last reading began
  Clock::time_point next_ HG_GUARDED_BY(mutex_);  // when the next one may begin
  Housekeeper keeper_;  // the last member: it begins when all else is there
};

}  // namespace halograph::server
