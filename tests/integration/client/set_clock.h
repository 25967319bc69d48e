// The clocks of a process that preloads set_clock.cc (LD_PRELOAD), which another process, or the
// same one, sets: what they are off by stands in a file that the environment variable
// HALOGRAPH_TEST_CLOCK names. Without the variable the clocks are right.
#pragma once

#include <atomic>
#include <cstdint>

namespace halograph {

inline constexpr char kClockVariable[] = "HALOGRAPH_TEST_CLOCK";

// The whole file, as bytes of this machine. All zeros: the clocks are right.
struct ClockOffsets {
  std::atomic<int64_t> wall_ns{0};    // added to CLOCK_REALTIME
  std::atomic<int64_t> steady_ns{0};  // added to CLOCK_MONOTONIC
  // Added to wall_ns at every reading of the wall clock: what reads it twice finds another hour.
  std::atomic<int64_t> wall_ns_a_reading{0};
  // After so many readings of the steady clock an hour is added to steady_ns; 0: never.
  std::atomic<int64_t> readings_to_hour{0};
};
static_assert(sizeof(ClockOffsets) == 4 * sizeof(int64_t));

}  // namespace halograph
