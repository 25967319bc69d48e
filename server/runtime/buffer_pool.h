// Buffers for replies: reused, and bounded in bytes. A buffer outlives the call that filled it: it
// goes back to its pool on the thread that has sent it. It keeps its pool alive.
// Thread-safe; a buffer itself has one owner.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace halograph::server {

class BufferPool;

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
  PooledBuffer(std::shared_ptr<BufferPool> pool, Memory data, size_t capacity)
      : pool_(std::move(pool)), data_(std::move(data)), capacity_(capacity) {}
  void GiveBack();

  std::shared_ptr<BufferPool> pool_;
  Memory data_;
  size_t capacity_ = 0;
};

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  // Buffers in use and buffers kept for reuse take at most `max_bytes` together. Acquire waits up
  // to `patience` for memory within that bound.
  [[nodiscard]] static std::shared_ptr<BufferPool> Create(int64_t max_bytes,
                                                          std::chrono::nanoseconds patience);

  // A buffer of at least `bytes`.
  //   Unavailable        the pool was full for all of `patience`: try again
  //   ResourceExhausted  larger than the whole pool
  [[nodiscard]] StatusOr<PooledBuffer> Acquire(size_t bytes);

  struct Usage {
    int64_t in_use_bytes = 0;
    int64_t kept_bytes = 0;
  };
  [[nodiscard]] Usage usage() const;

 private:
  friend class PooledBuffer;
  BufferPool(int64_t max_bytes, std::chrono::nanoseconds patience)
      : max_bytes_(max_bytes), patience_(patience) {}
  void Return(PooledBuffer::Memory data, size_t capacity);
  // A kept buffer that fits without waste, or an empty one.
  PooledBuffer TakeKept(size_t capacity) HG_REQUIRES(mutex_);
  // Frees kept buffers until `bytes` more fit, if that can be.
  bool MakeRoom(int64_t bytes) HG_REQUIRES(mutex_);

  const int64_t max_bytes_;
  const std::chrono::nanoseconds patience_;
  mutable Mutex mutex_;
  CondVar returned_;
  std::multimap<size_t, PooledBuffer::Memory> kept_ HG_GUARDED_BY(mutex_);  // by capacity
  int64_t kept_bytes_ HG_GUARDED_BY(mutex_) = 0;
  int64_t in_use_bytes_ HG_GUARDED_BY(mutex_) = 0;
};

}  // namespace halograph::server
