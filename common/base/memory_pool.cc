#include "common/base/memory_pool.h"

#include <algorithm>
#include <bit>
#include <limits>

#include <fmt/format.h>
#include <sanitizer/asan_interface.h>

#include "common/base/huge_pages.h"

namespace halograph {
namespace {

// Blocks given back until what was needed before them is forgotten, in two steps.
constexpr int64_t kSpan = 4096;

constexpr size_t kMostBytes = std::numeric_limits<size_t>::max() / 4;

// Sizes differ by some per cent from one minibatch to the next: they are rounded up to eighths of a
// power of two, so that a block fits the next one too.
size_t CapacityFor(size_t bytes) {
  const size_t step = std::max(std::bit_floor(bytes) / 8, MemoryPool::kAlignment);
  return (bytes + step - 1) / step * step;
}

std::align_val_t AlignmentFor(size_t capacity) {
  return std::align_val_t{capacity >= kHugePageBytes ? kHugePageBytes : MemoryPool::kAlignment};
}

}  // namespace

PoolOutOfMemory::PoolOutOfMemory(std::string_view pool, size_t bytes)
    : message_(fmt::format("the pool of {} could not get {} bytes", pool, bytes)) {}

MemoryPool::~MemoryPool() {
  for (const auto& [capacity, block] : kept_) Free(block);
}

void* MemoryPool::Take(size_t bytes) {
  if (bytes > kMostBytes) throw PoolOutOfMemory(name_, bytes);
  const size_t needed = bytes + sizeof(Header);
  if (needed < kLeastPooled) return Allocate(needed, bytes) + 1;
  const size_t capacity = CapacityFor(needed);
  Header* header = TakeKept(capacity);
  if (header == nullptr) {
    // Without the lock: it may be a call of the system.
    header = Allocate(capacity, bytes);
    const MutexLock lock(mutex_);
    ++usage_.fresh_blocks;
    AddInUse(capacity);
  }
  ASAN_POISON_MEMORY_REGION(header + 1, header->capacity - sizeof(Header));
  ASAN_UNPOISON_MEMORY_REGION(header + 1, bytes);
  return header + 1;
}

void MemoryPool::Give(void* data) {
  if (data == nullptr) return;
  Header* const header = static_cast<Header*>(data) - 1;
  if (header->capacity < kLeastPooled) return Free(header);
  ASAN_POISON_MEMORY_REGION(data, header->capacity - sizeof(Header));
  for (const auto& [capacity, block] : Keep(header)) Free(block);
}

MemoryUsage MemoryPool::usage() const {
  const MutexLock lock(mutex_);
  return usage_;
}

MemoryPool::Header* MemoryPool::Allocate(size_t capacity, size_t bytes) const {
  void* const block = ::operator new(capacity, AlignmentFor(capacity), std::nothrow);
  if (block == nullptr) throw PoolOutOfMemory(name_, bytes);
  AskForHugePages(block, capacity);
  return new (block) Header{capacity};
}

void MemoryPool::Free(Header* header) {
  const size_t capacity = header->capacity;
  ASAN_UNPOISON_MEMORY_REGION(header, capacity);
  ::operator delete(header, AlignmentFor(capacity));
}

MemoryPool::Header* MemoryPool::TakeKept(size_t capacity) {
  const MutexLock lock(mutex_);
  const auto kept = kept_.lower_bound(capacity);
  if (kept == kept_.end() || kept->first > 2 * capacity) return nullptr;
  Header* const header = kept->second;
  usage_.kept_bytes -= static_cast<int64_t>(kept->first);
  AddInUse(kept->first);
  kept_.erase(kept);
  return header;
}

// The smallest go first.
MemoryPool::Blocks MemoryPool::Keep(Header* header) {
  const MutexLock lock(mutex_);
  const auto bytes = static_cast<int64_t>(header->capacity);
  usage_.in_use_bytes -= bytes;
  usage_.kept_bytes += bytes;
  kept_.emplace(header->capacity, header);
  if (usage_.in_use_bytes == 0) most_in_use_ = most_before_ = 0;
  if (++given_back_ == kSpan) {
    given_back_ = 0;
    most_before_ = most_in_use_;
    most_in_use_ = usage_.in_use_bytes;
  }
  Blocks surplus;
  while (usage_.in_use_bytes + usage_.kept_bytes > Bound()) {
    usage_.kept_bytes -= static_cast<int64_t>(kept_.begin()->first);
    surplus.insert(kept_.extract(kept_.begin()));
  }
  return surplus;
}

int64_t MemoryPool::Bound() const {
  const auto most = static_cast<double>(std::max(most_in_use_, most_before_));
  return static_cast<int64_t>(most * (1 + spare_));
}

void MemoryPool::AddInUse(size_t capacity) {
  usage_.in_use_bytes += static_cast<int64_t>(capacity);
  most_in_use_ = std::max(most_in_use_, usage_.in_use_bytes);
}

}  // namespace halograph
