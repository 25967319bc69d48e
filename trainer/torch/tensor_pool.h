// Memory of libtorch's tensors on the CPU from a pool (common/base/memory_pool.h), so that a step
// of training takes the memory of the step before it.
#pragma once

#include "common/base/memory_pool.h"

namespace halograph {

// From now on; tensors that exist stay where they are. Idempotent. For main, or whoever computes
// first. Where memory runs out, operations throw PoolOutOfMemory, "the pool of tensors ...".
void PoolTensors();

[[nodiscard]] MemoryUsage GetTensorMemoryUsage();

}  // namespace halograph
