// One value for several readers of metrics: what all series of a scrape are read from, gathered
// once a scrape and not once a series. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace halograph::server {

template <typename Value>
class SharedReading {
 public:
  using Clock = std::chrono::steady_clock;
  // No value that is older is given: scrapes that overlap leave some readers behind.
  static constexpr std::chrono::milliseconds kOldest{100};

  // `gather` is called by those who read, one call at a time.
  explicit SharedReading(std::function<Value()> gather,
                         std::function<Clock::time_point()> now = Clock::now)
      : gather_(std::move(gather)), now_(std::move(now)) {}

  // A reader more: its number.
  [[nodiscard]] size_t AddReader() {
    const MutexLock lock(mutex_);
    seen_.push_back(false);
    return seen_.size() - 1;
  }

  // A scrape asks each reader once. So the value is gathered again for the first reader that has
  // seen it.
  [[nodiscard]] std::shared_ptr<const Value> Get(size_t reader) {
    const MutexLock lock(mutex_);
    const Clock::time_point now = now_();
    if (value_ == nullptr || seen_[reader] || now - gathered_ > kOldest) {
      value_ = std::make_shared<const Value>(gather_());
      gathered_ = now;
      seen_.assign(seen_.size(), false);
    }
    seen_[reader] = true;
    return value_;
  }

 private:
  const std::function<Value()> gather_;
  const std::function<Clock::time_point()> now_;
  Mutex mutex_;
  std::shared_ptr<const Value> value_ HG_GUARDED_BY(mutex_);
  Clock::time_point gathered_ HG_GUARDED_BY(mutex_);
  std::vector<bool> seen_ HG_GUARDED_BY(mutex_);  // of each reader: it has seen `value_`
};

}  // namespace halograph::server
