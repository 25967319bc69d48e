// How many lines of a kind a log gets, so that nobody can fill a disk.
#pragma once

#include <chrono>
#include <cstdint>

#include "common/base/mutex.h"

namespace halograph {

// Allows so many lines a second. Thread-safe.
class LineLimit {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LineLimit(int lines_a_second) : most_(lines_a_second) {}

  // Whether to write a line now; `*left_out`: lines left out since the last one written. Null: who
  // writes counts otherwise.
  [[nodiscard]] bool Allow(int64_t* left_out = nullptr, Clock::time_point now = Clock::now());

 private:
  const int most_;
  Mutex mutex_;
  Clock::time_point second_ HG_GUARDED_BY(mutex_);
  int lines_ HG_GUARDED_BY(mutex_) = 0;
  int64_t left_out_ HG_GUARDED_BY(mutex_) = 0;
};

}  // namespace halograph
