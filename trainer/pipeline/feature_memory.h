// Memory of feature matrices, used again from one minibatch to the next: one pool a process
// (common/base/memory_pool.h). What is in use at once the pipeline bounds
// (--prefetch).
#pragma once

#include <cstddef>

#include "common/base/memory_pool.h"

namespace halograph {

// 64-byte aligned, contents undefined. Throws PoolOutOfMemory.
[[nodiscard]] void* TakeFeatureMemory(size_t bytes);
// Of TakeFeatureMemory; null is allowed.
void GiveFeatureMemory(void* data);

// For tests and for who looks at memory.
[[nodiscard]] MemoryUsage GetFeatureMemoryUsage();

}  // namespace halograph
