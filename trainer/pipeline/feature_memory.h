// Memory of feature matrices, used again from one minibatch to the next: one pool a process
// (common/base/memory_pool.h). What is in use at once the pipeline bounds
// (--prefetch).
#pragma once

#include <cstddef>
#include <functional>

#include "common/base/memory_pool.h"

namespace halograph {

// 64-byte aligned, contents undefined. Throws PoolOutOfMemory.
[[nodiscard]] void* TakeFeatureMemory(size_t bytes);
// Of TakeFeatureMemory; null is allowed.
void GiveFeatureMemory(void* data);

// Where blocks come from instead of the pool. For whoever has memory of a kind: a device's.
struct FeatureMemory {
  std::function<void*(size_t bytes)> take;  // 64-byte aligned
  std::function<void(void* data)> give;
};
// From now on, for the process. Requires that nothing is taken.
void SetFeatureMemory(FeatureMemory memory);

// For tests and for who looks at memory.
[[nodiscard]] MemoryUsage GetFeatureMemoryUsage();

}  // namespace halograph
