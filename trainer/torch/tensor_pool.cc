#include "trainer/torch/tensor_pool.h"

#include <cstring>

#include <c10/core/CPUAllocator.h>

#include "trainer/torch/torch_api.h"

// With 2.3, allocators came to change when they allocate, and to copy.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
#define HALOGRAPH_ALLOCATE_CONST
#define HALOGRAPH_ALLOCATOR_COPIES 1
#else
#define HALOGRAPH_ALLOCATE_CONST const
#define HALOGRAPH_ALLOCATOR_COPIES 0
#endif

namespace halograph {
namespace {

MemoryPool& ThePool() {
  // A step has matrices of many sizes, not all at once.
  constexpr double kSpare = 0.5;
  static auto* const pool = new MemoryPool("tensors", kSpare);  // never destroyed: as tensors
  return *pool;
}

void Give(void* data) { ThePool().Give(data); }

class PooledAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) HALOGRAPH_ALLOCATE_CONST override {
    void* const data = bytes > 0 ? ThePool().Take(bytes) : nullptr;
    return {data, data, &Give, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Give; }
#if HALOGRAPH_ALLOCATOR_COPIES
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
#endif
};

}  // namespace

void PoolTensors() {
  static auto* const allocator = new PooledAllocator;  // libtorch keeps it
  c10::SetCPUAllocator(allocator);
}

MemoryUsage GetTensorMemoryUsage() { return ThePool().usage(); }

}  // namespace halograph
