// Time and threads of the machine: std::chrono::steady_clock, std::mutex, std::thread.
#pragma once

#include <memory>

#include "common/state/env.h"

namespace halograph {

// NowNs counts from the epoch of std::chrono::steady_clock.
[[nodiscard]] std::unique_ptr<Scheduler> MakeSystemScheduler();

}  // namespace halograph
