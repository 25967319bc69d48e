// Where counters and histograms count: integers (or doubles) of which each thread has its own copy,
// a shard. Only its thread writes to a shard, so an increment is a load and a store without a lock
// and without a cache line that two threads share. A reader sums over the shards. The shard of a
// thread that ends is added to one for all ended threads, so memory grows with the threads that
// live, not with those that lived.
//
// One space of cells serves the whole process, in chunks of kChunkCells; a registry takes whole
// chunks and gives them back (CellSpace). A thread has a chunk from its first increment in it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/mutex.h"

namespace halograph::metric_cells {

inline constexpr size_t kChunkCells = 512;
// What all registries of a process may have, in chunks: half a million cells, eleven thousand
// histograms of latencies.
inline constexpr size_t kChunks = 1024;

// Where those count that got no cells, since the process has used them up: nobody reads it.
inline constexpr uint32_t kSpillSlot = (kChunks - 1) * kChunkCells;

// A double is kept as its bits.
using Cell = std::atomic<int64_t>;

struct Shard {
  std::array<std::atomic<Cell*>, kChunks> chunks{};
};

inline constinit Shard no_shard;  // of a thread that has not counted yet: no chunks
inline constinit thread_local Shard* shard_of_thread = &no_shard;

// Makes the calling thread's shard, and its chunk of `slot`.
[[nodiscard]] Cell* MakeCells(uint32_t slot);

// The calling thread's cells from `slot` on.
[[nodiscard]] inline Cell* CellsFrom(uint32_t slot) {
  Cell* const chunk = shard_of_thread->chunks[slot / kChunkCells].load(std::memory_order_relaxed);
  if (chunk == nullptr) [[unlikely]] {
    return MakeCells(slot);
  }
  return chunk + slot % kChunkCells;
}

// By the thread whose cell it is.
inline void AddTo(Cell& cell, int64_t n) {
  // Unsigned: a sum too large for 63 bits wraps.
  const auto sum =
      static_cast<uint64_t>(cell.load(std::memory_order_relaxed)) + static_cast<uint64_t>(n);
  cell.store(static_cast<int64_t>(sum), std::memory_order_relaxed);
}
inline void AddTo(Cell& cell, double n) {
  const auto sum = std::bit_cast<double>(cell.load(std::memory_order_relaxed)) + n;
  cell.store(std::bit_cast<int64_t>(sum), std::memory_order_relaxed);
}

// The cells of one registry. Not thread-safe, but for Sum. When it ends, nobody may count in its
// cells.
class CellSpace {
 public:
  CellSpace() = default;
  ~CellSpace();
  CellSpace(const CellSpace&) = delete;
  CellSpace& operator=(const CellSpace&) = delete;

  // The first of `count` cells (kChunkCells at most) next to one another, all 0; the first is a
  // double if so said. Nothing if the process has used up its chunks.
  [[nodiscard]] std::optional<uint32_t> Allocate(size_t count, bool first_is_double);

 private:
  std::vector<uint32_t> chunks_;
  size_t used_ = kChunkCells;  // of the last chunk
};

// The sums over all threads, living and ended, of as many cells as `sums` has, from `slot` on.
// Thread-safe. What a thread counted before something that happened before this call is in them.
// Sums of what only grows only grow.
void Sum(uint32_t slot, std::span<int64_t> sums);

// Threads that have a shard now, and chunks that registries have now. For tests.
[[nodiscard]] size_t LivingShards();
[[nodiscard]] size_t ChunksInUse();

}  // namespace halograph::metric_cells
