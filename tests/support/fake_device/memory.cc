#include "tests/support/fake_device/memory.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <torch/version.h>

// With 2.3, allocators came to change when they allocate, and to copy.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
#define HALOGRAPH_FAKE_ALLOCATE_CONST
#define HALOGRAPH_FAKE_ALLOCATOR_COPIES 1
#else
#define HALOGRAPH_FAKE_ALLOCATE_CONST const
#define HALOGRAPH_FAKE_ALLOCATOR_COPIES 0
#endif

namespace halograph::fake_device {
namespace {

constexpr int kPoison = 0xFF;
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Never destroyed: tensors may be freed at the end of the process.
struct Pools {
  BlockPool device;
  BlockPool pinned;
  int64_t limit = kNoLimit;
};

Pools& ThePools() {
  static auto* const pools = new Pools;
  return *pools;
}

int64_t InUse() { return static_cast<int64_t>(ThePools().device.in_use_bytes()); }

void CheckLimit(int64_t bytes) {
  const int64_t limit = ThePools().limit;
  if (bytes <= limit - InUse()) return;
  ThePools().device.AwaitBusy();  // as CUDA's allocator does before it gives up
  TORCH_CHECK_WITH(OutOfMemoryError, bytes <= limit - InUse(), "Fake device out of memory: ", bytes,
                   " bytes asked for, ", InUse(), " of ", limit, " in use");
}

// A fresh block is poisoned at once, one that was used before when its stream gets there: what is
// queued there may be reading it.
void Poison(MemoryBlock* block, int stream) {
  const auto fill = [data = block->data, bytes = block->bytes] {
    std::memset(data, kPoison, bytes);
  };
  if (block->is_used) {
    Streams::The().Queue(stream, fill);
  } else {
    fill();
  }
}

void GiveToDevice(void* given) {
  const auto lock = Lock();
  auto* const block = static_cast<MemoryBlock*>(given);
  for (const int stream : block->other_streams) {
    block->busy.push_back(Streams::The().Record(stream));
  }
  block->other_streams.clear();
  ThePools().device.Give(block);
}

void GiveToPinned(void* given) {
  const auto lock = Lock();
  ThePools().pinned.Give(static_cast<MemoryBlock*>(given));
}

void GiveNothing(void* /*given*/) {}

class FakeAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) HALOGRAPH_FAKE_ALLOCATE_CONST override {
    const c10::Device device(c10::DeviceType::PrivateUse1, 0);
    if (bytes == 0) return {nullptr, nullptr, &GiveNothing, device};
    const auto lock = Lock();
    CheckLimit(static_cast<int64_t>(bytes));
    const int stream = Streams::Current();
    MemoryBlock* const block = ThePools().device.Take(bytes, stream);
    Poison(block, stream);
    return {block->data, block, &GiveToDevice, device};
  }
#if HALOGRAPH_FAKE_ALLOCATOR_COPIES
  void copy_data(void* to, const void* from, size_t bytes) const override {
    const auto lock = Lock();
    Streams::The().Queue(Streams::Current(), [=] { std::memcpy(to, from, bytes); });
  }
#endif
};

}  // namespace

c10::Allocator* DeviceAllocator() {
  static auto* const allocator = new FakeAllocator;  // libtorch keeps it
  return allocator;
}

void UseOnStream(const c10::DataPtr& memory, int stream) {
  const auto lock = Lock();
  auto* const block = memory.cast_context<MemoryBlock>(&GiveToDevice);
  if (block == nullptr || block->list == stream) return;
  auto& others = block->other_streams;
  if (std::find(others.begin(), others.end(), stream) == others.end()) others.push_back(stream);
}

void SetMemoryLimit(int64_t bytes) {
  const auto lock = Lock();
  ThePools().limit = bytes;
}

void RemoveMemoryLimit() { SetMemoryLimit(kNoLimit); }

int64_t MemoryInUse() {
  const auto lock = Lock();
  return InUse();
}

c10::DataPtr TakePinned(size_t bytes) {
  const auto lock = Lock();
  MemoryBlock* const block = ThePools().pinned.Take(bytes, 0);
  std::memset(block->data, kPoison, block->bytes);
  return {block->data, block, &GiveToPinned, c10::Device(c10::DeviceType::CPU)};
}

MemoryBlock* PinnedBlockOf(const void* address) { return ThePools().pinned.Find(address); }

}  // namespace halograph::fake_device
