#include "server/runtime/memory_trimmer.h"

#include <malloc.h>

namespace halograph::server {
namespace {

// Free memory below this is what the next calls take anyway.
constexpr size_t kWorthTrimming = size_t{16} << 20;

}  // namespace

bool MemoryTrimmer::Trim(Clock::time_point now, bool idle, BufferPool& buffers) {
  if (now - last_ < kEvery) return false;
  last_ = now;
  if (idle) buffers.FreeKept();
  // Pages that were given back still count as free here: looking again costs little.
  if (mallinfo2().fordblks < kWorthTrimming) return false;
  return malloc_trim(0) != 0;
}

}  // namespace halograph::server
