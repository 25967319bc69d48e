// Host memory from which a device copies by itself, for who wants plain bytes rather than tensors:
// gathers write into it, and nothing is copied on the host.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>

#include "common/base/mutex.h"
#include "trainer/device/device.h"

namespace halograph {

// Thread-safe. Blocks that are given back are taken again: libtorch keeps them.
class HostBlocks {
 public:
  explicit HostBlocks(Device device) : device_(std::move(device)) {}

  // Aligned as libtorch aligns, 64 bytes at least; contents undefined. Throws std::runtime_error
  // with what libtorch says, and what to do.
  [[nodiscard]] void* Take(size_t bytes);
  // Of Take; null is allowed. Nothing may copy from it any more.
  void Give(void* data);

 private:
  const Device device_;
  Mutex mutex_;
  std::unordered_map<void*, torch::Tensor> taken_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph
