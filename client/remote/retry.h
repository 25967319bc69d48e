// When a call that a server could not take is tried again, and where.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace halograph {

// Of a method.
struct RetryPolicy {
  // The method changes nothing, so that it may be called any number of times. If not, only what a
  // server refused before it did anything is tried again: it says so by its pushback.
  bool repeatable = true;
  // Tries in a row at one server while others can answer too; then the next of them is asked, and
  // after the last the first again, until the deadline.
  int tries_a_server = 1;
};

inline constexpr std::chrono::milliseconds kFirstBackoff{50};
inline constexpr std::chrono::milliseconds kLongestBackoff{2000};

// Exponential backoff with jitter, so that clients that failed together do not come back together.
// Pure but for the random draw given. The pause before the attempt after `attempts` failed ones
// (>= 1): kFirstBackoff doubled each time up to kLongestBackoff, times a factor in [0.5, 1.5) out
// of the 64-bit `draw`. A server's `pushback` is honoured: the pause is then at least that long,
// and at most half as long again.
[[nodiscard]] std::chrono::nanoseconds RetryPause(int attempts,
                                                  std::optional<std::chrono::milliseconds> pushback,
                                                  uint64_t draw);

}  // namespace halograph
