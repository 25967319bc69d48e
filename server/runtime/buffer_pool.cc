#include "server/runtime/buffer_pool.h"

#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

namespace halograph::server {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSmallest = size_t{16} << 10;
// Beside a power of two for the rows: what stands before them.
constexpr size_t kExtra = 4096;
// A kept buffer is not given out for less than this part of its size.
constexpr size_t kLargestWaste = 4;

size_t CapacityFor(size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  if (bytes <= kSmallest + kExtra) return kSmallest + kExtra;
  return std::bit_ceil(bytes - kExtra) + kExtra;
}

}  // namespace

void PooledBuffer::Free::operator()(std::byte* data) const {
  ::operator delete (data, std::align_val_t{kAlignment});
}

PooledBuffer& PooledBuffer::operator=(PooledBuffer&& other) noexcept {
  if (this != &other) {
    GiveBack();
    pool_ = std::move(other.pool_);
    data_ = std::move(other.data_);
    capacity_ = std::exchange(other.capacity_, 0);
  }
  return *this;
}

PooledBuffer::~PooledBuffer() { GiveBack(); }

void PooledBuffer::GiveBack() {
  if (data_ == nullptr) return;
  pool_->Return(std::move(data_), std::exchange(capacity_, 0));
  pool_.reset();
}

std::shared_ptr<BufferPool> BufferPool::Create(int64_t max_bytes,
                                               std::chrono::nanoseconds patience) {
  return std::shared_ptr<BufferPool>(new BufferPool(max_bytes, patience));
}

StatusOr<PooledBuffer> BufferPool::Acquire(size_t bytes) {
  const size_t capacity = CapacityFor(bytes);
  const auto charge = static_cast<int64_t>(capacity);
  if (charge > max_bytes_) {
    return ResourceExhausted("a reply of {} bytes is larger than the reply memory of {} bytes",
                             bytes, max_bytes_);
  }
  PooledBuffer kept;
  MutexLock lock(mutex_);
  const auto has_room = [&]() HG_REQUIRES(mutex_) {
    kept = TakeKept(capacity);
    return kept.data() != nullptr || MakeRoom(charge);
  };
  if (!returned_.WaitFor(mutex_, patience_, has_room)) {
    return Unavailable("replies of {} bytes wait to be sent, at most {} may: try again",
                       in_use_bytes_, max_bytes_);
  }
  if (kept.data() != nullptr) return kept;
  in_use_bytes_ += charge;
  lock.Unlock();
  PooledBuffer::Memory data(
      static_cast<std::byte*>(::operator new (capacity, std::align_val_t{kAlignment})));
  return PooledBuffer(shared_from_this(), std::move(data), capacity);
}

PooledBuffer BufferPool::TakeKept(size_t capacity) {
  const auto found = kept_.lower_bound(capacity);
  if (found == kept_.end() || found->first / kLargestWaste > capacity) return {};
  PooledBuffer buffer(shared_from_this(), std::move(found->second), found->first);
  kept_bytes_ -= static_cast<int64_t>(found->first);
  in_use_bytes_ += static_cast<int64_t>(found->first);
  kept_.erase(found);
  return buffer;
}

bool BufferPool::MakeRoom(int64_t bytes) {
  if (in_use_bytes_ + bytes > max_bytes_) return false;
  while (in_use_bytes_ + kept_bytes_ + bytes > max_bytes_) {
    const auto smallest = kept_.begin();
    kept_bytes_ -= static_cast<int64_t>(smallest->first);
    kept_.erase(smallest);
  }
  return true;
}

void BufferPool::Return(PooledBuffer::Memory data, size_t capacity) {
  {
    const MutexLock lock(mutex_);
    in_use_bytes_ -= static_cast<int64_t>(capacity);
    kept_bytes_ += static_cast<int64_t>(capacity);
    kept_.emplace(capacity, std::move(data));
  }
  returned_.NotifyAll();
}

BufferPool::Usage BufferPool::usage() const {
  const MutexLock lock(mutex_);
  return {in_use_bytes_, kept_bytes_};
}

}  // namespace halograph::server
