// Gives memory back to the system that calls have left behind: after a burst, malloc and the pool
// of buffers would keep it. One thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "server/runtime/buffer_pool.h"

namespace halograph::server {

class MemoryTrimmer {
 public:
  using Clock = std::chrono::steady_clock;

  // At most so often is looked at all, but once kSoon after connections were shut. Who takes too
  // much comes back after a second, and may find another arena of malloc: what its connections left
  // behind would add up.
  static constexpr std::chrono::seconds kEvery{10};
  static constexpr std::chrono::milliseconds kSoon{700};

  // If it is due: when no call is in flight, frees what the pool keeps; and gives back what malloc
  // holds free, if it is much, which takes a second for gigabytes. `shut`: connections so far.
  // Returns after how long it is due again, if none is shut before.
  std::chrono::nanoseconds Trim(Clock::time_point now, bool idle, int64_t shut,
                                BufferPool& buffers);

 private:
  Clock::time_point due_ = Clock::now() + kEvery;
  int64_t shut_ = 0;
};

}  // namespace halograph::server
