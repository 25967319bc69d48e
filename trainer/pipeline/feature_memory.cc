#include "trainer/pipeline/feature_memory.h"

#include <algorithm>
#include <bit>
#include <map>
#include <new>

#include "common/base/huge_pages.h"
#include "common/base/mutex.h"

namespace halograph {
namespace {

constexpr size_t kAlignment = 64;
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

std::align_val_t AlignmentFor(size_t capacity) {
  return std::align_val_t{capacity >= kHugePageBytes ? kHugePageBytes : kAlignment};
}

Header* Allocate(size_t capacity) {
  void* const block = ::operator new(capacity, AlignmentFor(capacity));
  AskForHugePages(block, capacity);
  return new (block) Header{capacity};
}

void Free(Header* header) { ::operator delete(header, AlignmentFor(header->capacity)); }

// Allocates and frees without its lock: either may be a call of the system.
class Pool {
 public:
  Header* Take(size_t capacity) {
    if (Header* const kept = TakeKept(capacity); kept != nullptr) return kept;
    Header* const header = Allocate(capacity);
    const MutexLock lock(mutex_);
    AddInUse(capacity);
    return header;
  }

  void Give(Header* header) {
    for (const auto& [capacity, block] : Keep(header)) Free(block);
  }

  FeatureMemoryUsage usage() const {
    const MutexLock lock(mutex_);
    return usage_;
  }

 private:
  using Blocks = std::multimap<size_t, Header*>;  // by capacity

  // Null if none fits.
  Header* TakeKept(size_t capacity) {
    const MutexLock lock(mutex_);
    const auto kept = kept_.lower_bound(capacity);
    if (kept == kept_.end() || kept->first > 2 * capacity) return nullptr;
    Header* const header = kept->second;
    usage_.kept_bytes -= static_cast<int64_t>(kept->first);
    AddInUse(kept->first);
    kept_.erase(kept);
    return header;
  }

  // Gives what is now too much, the smallest first.
  Blocks Keep(Header* header) {
    const MutexLock lock(mutex_);
    const auto bytes = static_cast<int64_t>(header->capacity);
    usage_.in_use_bytes -= bytes;
    usage_.kept_bytes += bytes;
    kept_.emplace(header->capacity, header);
    if (usage_.in_use_bytes == 0) most_in_use_ = 0;
    Blocks surplus;
    while (usage_.in_use_bytes + usage_.kept_bytes > most_in_use_) {
      usage_.kept_bytes -= static_cast<int64_t>(kept_.begin()->first);
      surplus.insert(kept_.extract(kept_.begin()));
    }
    return surplus;
  }

  void AddInUse(size_t capacity) HG_REQUIRES(mutex_) {
    usage_.in_use_bytes += static_cast<int64_t>(capacity);
    most_in_use_ = std::max(most_in_use_, usage_.in_use_bytes);
  }

  mutable Mutex mutex_;
  Blocks kept_ HG_GUARDED_BY(mutex_);
  FeatureMemoryUsage usage_ HG_GUARDED_BY(mutex_);
  int64_t most_in_use_ HG_GUARDED_BY(mutex_) = 0;  // since nothing was
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
