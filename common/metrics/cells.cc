#include "common/metrics/cells.h"

#include <algorithm>
#include <bitset>
#include <memory>
#include <new>

#include <pthread.h>

namespace halograph::metric_cells {
namespace {

// Two threads' cells never share a cache line, nor one that is fetched beside it.
constexpr std::align_val_t kAlign{128};

Cell* NewChunk() {
  Cell* const chunk = static_cast<Cell*>(::operator new(kChunkCells * sizeof(Cell), kAlign));
  std::uninitialized_value_construct_n(chunk, kChunkCells);
  return chunk;
}

void FreeChunk(Cell* chunk) { ::operator delete(chunk, kAlign); }

void EndOfThread(void* shard);

// What the threads of the process share. It is never destroyed: threads may outlive main.
struct Everything {
  Everything() { ::pthread_key_create(&key, EndOfThread); }

  pthread_key_t key{};
  Mutex mutex;
  std::vector<Shard*> shards HG_GUARDED_BY(mutex);  // of living threads
  Shard ended HG_GUARDED_BY(mutex);                 // the sums of ended ones
  std::array<std::bitset<kChunkCells>, kChunks> doubles HG_GUARDED_BY(mutex);
  std::vector<uint32_t> free_chunks HG_GUARDED_BY(mutex);
  uint32_t next_chunk HG_GUARDED_BY(mutex) = 0;
};

Everything& All() {
  static Everything* const all = new Everything;
  return *all;
}

Cell* ChunkOf(const Shard& shard, size_t chunk) {
  return shard.chunks[chunk].load(std::memory_order_acquire);
}

void AddBits(Cell& cell, int64_t bits, bool is_double) {
  if (is_double) {
    AddTo(cell, std::bit_cast<double>(bits));
  } else {
    AddTo(cell, bits);
  }
}

// Adds a shard to that of the ended threads, and frees it. Called by pthread at the end of its
// thread, after the destructors of thread_local variables. What counts later still, in the
// destructor of another key, gets a new shard, and this is called once more.
void EndOfThread(void* ended_shard) {
  std::unique_ptr<Shard> shard(static_cast<Shard*>(ended_shard));
  shard_of_thread = &no_shard;
  Everything& all = All();
  const MutexLock lock(all.mutex);
  for (size_t c = 0; c < kChunks; ++c) {
    Cell* const chunk = ChunkOf(*shard, c);
    if (chunk == nullptr) continue;
    Cell* const into = ChunkOf(all.ended, c);
    if (into == nullptr) {
      all.ended.chunks[c].store(chunk, std::memory_order_release);
      continue;
    }
    for (size_t i = 0; i < kChunkCells; ++i) {
      AddBits(into[i], chunk[i].load(std::memory_order_relaxed), all.doubles[c][i]);
    }
    FreeChunk(chunk);
  }
  std::erase(all.shards, shard.get());
}

}  // namespace

Cell* MakeCells(uint32_t slot) {
  Everything& all = All();
  if (shard_of_thread == &no_shard) {
    auto made = std::make_unique<Shard>();
    const MutexLock lock(all.mutex);
    all.shards.push_back(made.get());
    shard_of_thread = made.release();
    // If there is no memory for the key, the shard stays and is summed, but is not freed.
    ::pthread_setspecific(all.key, shard_of_thread);
  }
  const size_t index = slot / kChunkCells;
  Cell* const chunk = NewChunk();
  // With the lock: a registry that ends walks through the chunks of all shards.
  const MutexLock lock(all.mutex);
  shard_of_thread->chunks[index].store(chunk, std::memory_order_release);
  return chunk + slot % kChunkCells;
}

CellSpace::~CellSpace() {
  Everything& all = All();
  const MutexLock lock(all.mutex);
  for (const uint32_t c : chunks_) {
    for (Shard* const shard : all.shards) {
      FreeChunk(shard->chunks[c].exchange(nullptr, std::memory_order_acq_rel));
    }
    FreeChunk(all.ended.chunks[c].exchange(nullptr, std::memory_order_acq_rel));
    all.doubles[c].reset();
    all.free_chunks.push_back(c);
  }
}

std::optional<uint32_t> CellSpace::Allocate(size_t count, bool first_is_double) {
  Everything& all = All();
  const MutexLock lock(all.mutex);
  if (used_ + count > kChunkCells) {
    if (!all.free_chunks.empty()) {
      chunks_.push_back(all.free_chunks.back());
      all.free_chunks.pop_back();
    } else if (all.next_chunk < kSpillSlot / kChunkCells) {
      chunks_.push_back(all.next_chunk++);
    } else {
      return std::nullopt;
    }
    used_ = 0;
  }
  const size_t first = used_;
  used_ += count;
  all.doubles[chunks_.back()][first] = first_is_double;
  return static_cast<uint32_t>(chunks_.back() * kChunkCells + first);
}

void Sum(uint32_t slot, std::span<int64_t> sums) {
  Everything& all = All();
  std::fill(sums.begin(), sums.end(), 0);
  const size_t index = slot / kChunkCells;
  const size_t first = slot % kChunkCells;
  const MutexLock lock(all.mutex);
  const auto add = [&](const Shard& shard) HG_REQUIRES(all.mutex) {
    const Cell* const chunk = ChunkOf(shard, index);
    if (chunk == nullptr) return;
    for (size_t i = 0; i < sums.size(); ++i) {
      const int64_t bits = chunk[first + i].load(std::memory_order_relaxed);
      sums[i] =
          all.doubles[index][first + i]
              ? std::bit_cast<int64_t>(std::bit_cast<double>(sums[i]) + std::bit_cast<double>(bits))
              : sums[i] + bits;
    }
  };
  add(all.ended);
  for (const Shard* const shard : all.shards) add(*shard);
}

size_t LivingShards() {
  Everything& all = All();
  const MutexLock lock(all.mutex);
  return all.shards.size();
}

size_t ChunksInUse() {
  Everything& all = All();
  const MutexLock lock(all.mutex);
  return all.next_chunk - all.free_chunks.size();
}

}  // namespace halograph::metric_cells
