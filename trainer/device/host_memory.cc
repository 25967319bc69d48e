#include "trainer/device/host_memory.h"

#include <stdexcept>
#include <utility>

#include "common/base/log.h"
#include "common/base/units.h"

namespace halograph {

void* HostBlocks::Take(size_t bytes) {
  if (bytes == 0) return nullptr;
  torch::Tensor block;
  try {
    block = device_.HostBuffer(static_cast<int64_t>(bytes));
  } catch (const c10::Error& error) {
    throw std::runtime_error(fmt::format(
        "no host memory that {} reads, {}: {}; lower --batch-size, --fanouts or --prefetch-memory",
        device_.name(), FormatBytes(static_cast<int64_t>(bytes)), TorchMessage(error)));
  }
  void* const data = block.data_ptr();
  const MutexLock lock(mutex_);
  taken_.emplace(data, std::move(block));
  return data;
}

void HostBlocks::Give(void* data) {
  if (data == nullptr) return;
  torch::Tensor block;  // goes back after the lock
  const MutexLock lock(mutex_);
  const auto found = taken_.find(data);
  block = std::move(found->second);
  taken_.erase(found);
}

}  // namespace halograph
