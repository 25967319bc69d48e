// Blocks of memory that are used again: a fresh allocation of many megabytes costs a page fault for
// every page that is then written, often more than the work on it. Blocks of 2 MiB and more lie on
// huge pages.
//
// What is kept for reuse is bounded: when a block comes back, blocks in use and kept together are
// no more than the most that was in use at once of late (during the last 4,096 to 8,192 blocks that
// came back), and `spare` of that besides. When nothing is in use, everything goes back to the
// system.
//
// Thread-safe: a block may be given back on any thread. Under AddressSanitizer, kept blocks and the
// room behind what was asked for are poisoned: who touches them is reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/mutex.h"

namespace halograph {

// "the pool of NAME could not get N bytes".
class PoolOutOfMemory final : public std::bad_alloc {
 public:
  PoolOutOfMemory(std::string_view pool, size_t bytes);
  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

struct MemoryUsage {
  int64_t in_use_bytes = 0;
  int64_t kept_bytes = 0;
  int64_t fresh_blocks = 0;  // so far: those that no kept block could stand in for
};

class MemoryPool {
 public:
  static constexpr size_t kAlignment = 64;
  // Below this malloc reuses memory by itself, and the pool does nothing but pass on.
  static constexpr size_t kLeastPooled = size_t{64} << 10;

  // `name`: of what is in it, for errors. `spare`: where sizes are of many kinds, and blocks of one
  // kind are in use while those of another are not, a share that keeps both.
  explicit MemoryPool(std::string name, double spare = 0) : name_(std::move(name)), spare_(spare) {}
  // Requires that all blocks are back; frees those that are kept.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // At least `bytes`, contents undefined. Throws PoolOutOfMemory.
  [[nodiscard]] void* Take(size_t bytes);
  // Of Take of this pool; null is allowed.
  void Give(void* data);

  // Of blocks of kLeastPooled and more.
  [[nodiscard]] MemoryUsage usage() const;

 private:
  struct alignas(kAlignment) Header {  // before each block
    size_t capacity = 0;               // with the header
  };
  using Blocks = std::multimap<size_t, Header*>;  // by capacity

  [[nodiscard]] Header* Allocate(size_t capacity, size_t bytes) const;
  static void Free(Header* header);

  [[nodiscard]] Header* TakeKept(size_t capacity);  // null if none fits
  [[nodiscard]] Blocks Keep(Header* header);        // returns what is now too much
  void AddInUse(size_t capacity) HG_REQUIRES(mutex_);

  // Bytes that blocks in use and kept may have.
  [[nodiscard]] int64_t Bound() const HG_REQUIRES(mutex_);

  const std::string name_;
  const double spare_;
  mutable Mutex mutex_;
  Blocks kept_ HG_GUARDED_BY(mutex_);
  MemoryUsage usage_ HG_GUARDED_BY(mutex_);
  // The most bytes in use at once: in this span of blocks given back, and in the one before it.
  int64_t most_in_use_ HG_GUARDED_BY(mutex_) = 0;
  int64_t most_before_ HG_GUARDED_BY(mutex_) = 0;
  int64_t given_back_ HG_GUARDED_BY(mutex_) = 0;  // in this span
};

}  // namespace halograph
