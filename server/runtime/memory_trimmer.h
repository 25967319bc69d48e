// Gives memory back to the system that calls have left behind: after a burst, malloc and the pool
// of buffers would keep it. One thread.
#pragma once

#include <chrono>

#include "server/runtime/buffer_pool.h"

namespace halograph::server {

class MemoryTrimmer {
 public:
  using Clock = std::chrono::steady_clock;

  // At most so often is looked at all.
  static constexpr std::chrono::seconds kEvery{10};

  // When no call is in flight, frees what the pool keeps; and gives
  // back what malloc holds free, if it is much. True if it gave back something.
  bool Trim(Clock::time_point now, bool idle, BufferPool& buffers);

 private:
  Clock::time_point last_ = Clock::now();
};

}  // namespace halograph::server
