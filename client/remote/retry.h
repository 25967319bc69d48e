// How long a call that a server could not take waits until it is tried again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace halograph {

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
