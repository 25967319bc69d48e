// Does the delaying proxy do what it says? On loopback, within this process.
#pragma once

#include <chrono>

#include "common/base/status.h"
#include "common/storage/json.h"

namespace halograph {

// Sends small messages and a long stream through a proxy to an echo and back. Internal if a round
// trip was shorter than twice the delay, a byte changed, or the end of the stream did not come.
// Returns what was measured: round trips in seconds, bytes a second.
[[nodiscard]] StatusOr<Json> CheckDelayProxy(std::chrono::nanoseconds delay);

}  // namespace halograph
