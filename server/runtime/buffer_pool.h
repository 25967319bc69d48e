// Buffers for replies: reused, bounded in bytes, and shared out among those whom the replies are
// for. A buffer outlives the call that filled it: it goes back to its pool on the thread that has
// sent it. It keeps its pool alive. Nobody waits here: who finds no room is called when there is.
// Thread-safe; a buffer itself has one owner.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace halograph::server {

class BufferPool;

// What one peer holds of a pool.
struct BufferShare {
  std::string peer;
  int64_t held_bytes = 0;
  size_t buffers = 0;
  size_t waiting = 0;
};

// Movable; gives its memory back to the pool when destroyed. Contents are undefined at first.
class PooledBuffer {
 public:
  PooledBuffer() = default;
  PooledBuffer(PooledBuffer&&) = default;
  PooledBuffer& operator=(PooledBuffer&& other) noexcept;
  ~PooledBuffer();

  [[nodiscard]] std::byte* data() const { return data_.get(); }  // aligned to 64 bytes
  [[nodiscard]] size_t capacity() const { return capacity_; }

 private:
  friend class BufferPool;
  struct Free {
    void operator()(std::byte* data) const;
  };
  using Memory = std::unique_ptr<std::byte, Free>;
  PooledBuffer(std::shared_ptr<BufferPool> pool, BufferShare* share, Memory data, size_t capacity)
      : pool_(std::move(pool)), share_(share), data_(std::move(data)), capacity_(capacity) {}
  void GiveBack();

  std::shared_ptr<BufferPool> pool_;
  BufferShare* share_ = nullptr;
  Memory data_;
  size_t capacity_ = 0;
};

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  using Clock = std::chrono::steady_clock;
  using Ready = std::function<void(StatusOr<PooledBuffer>)>;

  // Who may wait at a time, of all peers and of one.
  static constexpr size_t kMostWaiting = 256;
  static constexpr size_t kMostWaitingOfAPeer = 16;

  // Buffers in use and buffers kept for reuse take at most `max_bytes` together.
  [[nodiscard]] static std::shared_ptr<BufferPool> Create(int64_t max_bytes);

  // A buffer of at least `bytes` for a reply to `peer`: one connection, say. A peer that holds
  // nothing gets what fits. One that holds something gets no more than it leaves free for others,
  // and a quarter of the pool is not for it: so the one who comes after greedy ones has room.
  //   Unavailable        no room now, or none in the peer's share: try again, or AcquireLater
  //   ResourceExhausted  larger than the whole pool
  [[nodiscard]] StatusOr<PooledBuffer> Acquire(size_t bytes, std::string_view peer);

  // Lets `ready` have such a buffer when there is room, or Unavailable if there is none until
  // `give_up`: once, from ServeWaiting. Unavailable, and `ready` is not called, if too many wait.
  [[nodiscard]] Status AcquireLater(size_t bytes, std::string_view peer, Clock::time_point give_up,
                                    Ready ready);
  // Calls those who wait and can have what they wait for, or have waited long enough. Returns how
  // many still wait. For one thread, that calls it when it is woken, and every now and then.
  size_t ServeWaiting(Clock::time_point now);
  // `wake` is called when somebody begins to wait, and when memory comes back while somebody does;
  // on the thread that does that, without a lock. Set it before the first Acquire.
  void OnChange(std::function<void()> wake) { wake_ = std::move(wake); }

  // Frees what is kept for reuse.
  void FreeKept();

  struct Usage {
    int64_t in_use_bytes = 0;
    int64_t kept_bytes = 0;
    size_t peers = 0;  // that hold something, or wait
    size_t waiting = 0;
  };
  [[nodiscard]] Usage usage() const;
  [[nodiscard]] int64_t max_bytes() const { return max_bytes_; }

 private:
  friend class PooledBuffer;
  struct Waiter {
    size_t capacity;
    BufferShare* share;
    Clock::time_point give_up;
    Ready ready;
  };

  explicit BufferPool(int64_t max_bytes) : max_bytes_(max_bytes) {}
  [[nodiscard]] BufferShare* ShareOf(std::string_view peer) HG_REQUIRES(mutex_);
  void DropIfUnused(BufferShare* share) HG_REQUIRES(mutex_);
  // Charges `capacity` to the share, if there is room. Then `*kept` is a kept buffer that fits
  // without waste, or empty: the memory is still to be taken from the system.
  [[nodiscard]] bool Reserve(size_t capacity, BufferShare* share, PooledBuffer::Memory* kept,
                             size_t* charged) HG_REQUIRES(mutex_);
  // The buffer of what was reserved. Unavailable: the system has no memory.
  [[nodiscard]] StatusOr<PooledBuffer> Make(PooledBuffer::Memory kept, size_t charged,
                                            BufferShare* share);
  [[nodiscard]] Status NoRoom() const HG_REQUIRES(mutex_);
  void Return(PooledBuffer::Memory data, size_t capacity, BufferShare* share);

  const int64_t max_bytes_;
  std::function<void()> wake_;
  mutable Mutex mutex_;
  std::multimap<size_t, PooledBuffer::Memory> kept_ HG_GUARDED_BY(mutex_);  // by capacity
  std::unordered_map<std::string, BufferShare> shares_ HG_GUARDED_BY(mutex_);
  std::list<Waiter> waiting_ HG_GUARDED_BY(mutex_);  // the first to come first
  int64_t kept_bytes_ HG_GUARDED_BY(mutex_) = 0;
  int64_t in_use_bytes_ HG_GUARDED_BY(mutex_) = 0;
};

// The memory of one call's reply. One thread at a time.
class ReplyMemory {
 public:
  // `pool` must outlive it.
  ReplyMemory(BufferPool* pool, std::string peer) : pool_(pool), peer_(std::move(peer)) {}

  // As BufferPool::Acquire for the call's peer, or what was Given if that is large enough.
  [[nodiscard]] StatusOr<PooledBuffer> Acquire(size_t bytes);
  // Bytes of the Acquire that found no room; 0 if none did.
  [[nodiscard]] size_t missing_bytes() const { return missing_bytes_; }
  void Give(PooledBuffer buffer) { given_ = std::move(buffer); }

  [[nodiscard]] BufferPool& pool() const { return *pool_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }

 private:
  BufferPool* const pool_;
  const std::string peer_;
  PooledBuffer given_;
  size_t missing_bytes_ = 0;
};

}  // namespace halograph::server
