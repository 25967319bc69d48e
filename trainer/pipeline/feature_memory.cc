#include "trainer/pipeline/feature_memory.h"

#include <atomic>
#include <utility>

namespace halograph {
namespace {

MemoryPool& ThePool() {
  static auto* const pool = new MemoryPool("features");  // never destroyed: matrices outlive main
  return *pool;
}

// Null: the pool. The last one is never destroyed either.
std::atomic<const FeatureMemory*> other_memory = nullptr;

}  // namespace

void SetFeatureMemory(FeatureMemory memory) {
  delete other_memory.exchange(new FeatureMemory(std::move(memory)));
}

void* TakeFeatureMemory(size_t bytes) {
  const FeatureMemory* const other = other_memory;
  return other != nullptr ? other->take(bytes) : ThePool().Take(bytes);
}

void GiveFeatureMemory(void* data) {
  const FeatureMemory* const other = other_memory;
  if (other != nullptr) return other->give(data);
  ThePool().Give(data);
}

MemoryUsage GetFeatureMemoryUsage() { return ThePool().usage(); }

}  // namespace halograph
