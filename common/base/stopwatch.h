// Seconds that something took.
#pragma once

#include <chrono>
#include <utility>

#include <time.h>

namespace halograph {

// Runs from its making. For one thread; reading it is thread-safe.
class Stopwatch {
 public:
  [[nodiscard]] std::chrono::nanoseconds elapsed() const { return Clock::now() - start_; }
  [[nodiscard]] double Seconds() const { return Between(start_, Clock::now()); }
  // Seconds since the last lap, or the start; begins the next.
  double Lap() {
    const Clock::time_point now = Clock::now();
    return Between(std::exchange(start_, now), now);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double Between(Clock::time_point start, Clock::time_point end) {
    return std::chrono::duration<double>(end - start).count();
  }

  Clock::time_point start_ = Clock::now();
};

// What the calling thread has had of the processors so far: not when it waited, nor when others
// ran.
[[nodiscard]] inline std::chrono::nanoseconds ProcessorTimeOfThread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace halograph
