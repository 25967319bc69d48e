#include "trainer/pipeline/feature_memory.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <new>

#include <sys/mman.h>

namespace halograph {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
// Below this malloc reuses memory by itself.
constexpr size_t kLeastPooled = size_t{64} << 10;

// Before the rows: what their block takes.
struct alignas(kAlignment) Header {
  size_t capacity = 0;
};

// Minibatches differ by some per cent: sizes are rounded up to eighths of a power of two, so that a
// block fits the next one too.
size_t CapacityFor(size_t bytes) {
  const size_t step = std::max(std::bit_floor(bytes) / 8, kAlignment);
  return (bytes + step - 1) / step * step;
}

Header* Allocate(size_t capacity) {
  const size_t alignment = capacity >= kHugePage ? kHugePage : kAlignment;
  void* const block = ::operator new (capacity, std::align_val_t{alignment});
  // Only advice: fewer faults and TLB misses where the kernel gives huge pages.
  if (capacity >= kHugePage) static_cast<void>(::madvise(block, capacity, MADV_HUGEPAGE));
  return new (block) Header{capacity};
}

void Free(Header* header) {
  const size_t alignment = header->capacity >= kHugePage ? kHugePage : kAlignment;
  ::operator delete (header, std::align_val_t{alignment});
}

class Pool {
 public:
  Header* Take(size_t capacity) {
    std::lock_guard lock(mutex_);
    const auto kept = kept_.lower_bound(capacity);
    Header* header = nullptr;
    if (kept != kept_.end() && kept->first <= 2 * capacity) {
      header = kept->second;
      usage_.kept_bytes -= static_cast<int64_t>(kept->first);
      kept_.erase(kept);
    } else {
      header = Allocate(capacity);
    }
    usage_.in_use_bytes += static_cast<int64_t>(header->capacity);
    most_in_use_ = std::max(most_in_use_, usage_.in_use_bytes);
    return header;
  }

  void Give(Header* header) {
    std::lock_guard lock(mutex_);
    const auto bytes = static_cast<int64_t>(header->capacity);
    usage_.in_use_bytes -= bytes;
    usage_.kept_bytes += bytes;
    kept_.emplace(header->capacity, header);
    if (usage_.in_use_bytes == 0) most_in_use_ = 0;
    while (usage_.in_use_bytes + usage_.kept_bytes > most_in_use_) FreeSmallest();
  }

  FeatureMemoryUsage usage() const {
    std::lock_guard lock(mutex_);
    return usage_;
  }

 private:
  void FreeSmallest() {
    const auto smallest = kept_.begin();
    usage_.kept_bytes -= static_cast<int64_t>(smallest->first);
    Free(smallest->second);
    kept_.erase(smallest);
  }

  mutable std::mutex mutex_;
  std::multimap<size_t, Header*> kept_;  // by capacity
  FeatureMemoryUsage usage_;
  int64_t most_in_use_ = 0;  // since nothing was
};

Pool& ThePool() {
  static Pool* const pool = new Pool;  // never destroyed: matrices may outlive main
  return *pool;
}

}  // namespace

void* TakeFeatureMemory(size_t bytes) {
  const size_t needed = bytes + sizeof(Header);
  Header* const header =
      needed < kLeastPooled ? Allocate(needed) : ThePool().Take(CapacityFor(needed));
  return header + 1;
}

void GiveFeatureMemory(void* data) {
  if (data == nullptr) return;
  Header* const header = static_cast<Header*>(data) - 1;
  if (header->capacity < kLeastPooled) return Free(header);
  ThePool().Give(header);
}

FeatureMemoryUsage GetFeatureMemoryUsage() { return ThePool().usage(); }

}  // namespace halograph
