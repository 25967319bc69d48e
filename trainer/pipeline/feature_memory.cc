#include "trainer/pipeline/feature_memory.h"

namespace halograph {
namespace {

MemoryPool& ThePool() {
  static auto* const pool = new MemoryPool("features");  // never destroyed: matrices outlive main
  return *pool;
}

}  // namespace

void* TakeFeatureMemory(size_t bytes) { return ThePool().Take(bytes); }

void GiveFeatureMemory(void* data) { ThePool().Give(data); }

MemoryUsage GetFeatureMemoryUsage() { return ThePool().usage(); }

}  // namespace halograph
