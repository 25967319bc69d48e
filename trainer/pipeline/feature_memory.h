// Memory of feature matrices, used again from one minibatch to the next: a fresh allocation of many
// megabytes costs a page fault for every page that the rows are then copied to, more than the
// copying itself.
//
// One pool a process, thread-safe: a matrix may be freed on whatever thread lets go of it last.
// What is kept for reuse is never more than was in use at once, which the pipeline bounds
// (--prefetch and --sample-threads): when nothing is in use, everything goes back to the system.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halograph {

// 64-byte aligned, contents undefined. Throws std::bad_alloc.
[[nodiscard]] void* TakeFeatureMemory(size_t bytes);
// Of TakeFeatureMemory; null is allowed.
void GiveFeatureMemory(void* data);

// For tests and for who looks at memory.
struct FeatureMemoryUsage {
  int64_t in_use_bytes = 0;
  int64_t kept_bytes = 0;
};
[[nodiscard]] FeatureMemoryUsage GetFeatureMemoryUsage();

}  // namespace halograph
