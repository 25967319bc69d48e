#include "server/runtime/memory_trimmer.h"

#include <algorithm>
#include <utility>

#include <malloc.h>

namespace halograph::server {
namespace {

// Free memory below this is what the next calls take anyway.
constexpr size_t kWorthTrimming = size_t{16} << 20;

}  // namespace

std::chrono::nanoseconds MemoryTrimmer::Trim(Clock::time_point now, bool idle, int64_t shut,
                                             BufferPool& buffers) {
  if (std::exchange(shut_, shut) != shut) due_ = std::min(due_, now + kSoon);
  if (now < due_) return due_ - now;
  due_ = now + kEvery;
  if (idle) buffers.FreeKept();
  // Pages that were given back still count as free here: looking again costs little.
  if (mallinfo2().fordblks >= kWorthTrimming) malloc_trim(0);
  return kEvery;
}

}  // namespace halograph::server
