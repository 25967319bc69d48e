// The fake device's memory, and host memory that it copies from and to without waiting.
#pragma once

#include <cstdint>

#include <c10/core/Allocator.h>

#include "tests/support/fake_device/blocks.h"

namespace halograph::fake_device {

// Takes from the list of the thread's current stream. Throws c10::OutOfMemoryError at the limit.
[[nodiscard]] c10::Allocator* DeviceAllocator();

// The memory is not taken again before what is queued on the stream when it is freed has run.
void UseOnStream(const c10::DataPtr& memory, int stream);

void SetMemoryLimit(int64_t bytes);
void RemoveMemoryLimit();
[[nodiscard]] int64_t MemoryInUse();

// Of 0xFF, and freed with the pointer.
[[nodiscard]] c10::DataPtr TakePinned(size_t bytes);
// The pinned block that the address lies in, or null. Who copies from or to it adds to `busy`;
// holds Lock().
[[nodiscard]] MemoryBlock* PinnedBlockOf(const void* address);

}  // namespace halograph::fake_device
