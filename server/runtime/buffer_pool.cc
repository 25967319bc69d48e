#include "server/runtime/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace halograph::server {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSmallest = 512;
// Up to here powers of two; from here on room beside them for what stands before the rows.
constexpr size_t kSmall = size_t{16} << 10;
constexpr size_t kExtra = 4096;
// A kept buffer is not given out for less than this part of its size.
constexpr size_t kLargestWaste = 4;
// This part of the pool is for peers that hold nothing.
constexpr int64_t kFirstRepliesOnly = 4;

size_t CapacityFor(size_t bytes) {
  if (bytes <= kSmall) return std::bit_ceil(std::max(bytes, kSmallest));
  if (bytes <= kSmall + kExtra) return kSmall + kExtra;
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
    share_ = std::exchange(other.share_, nullptr);
    data_ = std::move(other.data_);
    capacity_ = std::exchange(other.capacity_, 0);
  }
  return *this;
}

PooledBuffer::~PooledBuffer() { GiveBack(); }

void PooledBuffer::GiveBack() {
  if (data_ == nullptr) return;
  pool_->Return(std::move(data_), std::exchange(capacity_, 0), std::exchange(share_, nullptr));
  pool_.reset();
}

std::shared_ptr<BufferPool> BufferPool::Create(int64_t max_bytes) {
  return std::shared_ptr<BufferPool>(new BufferPool(max_bytes));
}

StatusOr<PooledBuffer> BufferPool::Acquire(size_t bytes, std::string_view peer) {
  const size_t capacity = CapacityFor(bytes);
  if (static_cast<int64_t>(capacity) > max_bytes_) {
    return ResourceExhausted("a reply of {} bytes is larger than the reply memory of {} bytes",
                             bytes, max_bytes_);
  }
  PooledBuffer::Memory kept;
  size_t charged = 0;
  MutexLock lock(mutex_);
  BufferShare* const share = ShareOf(peer);
  if (!Reserve(capacity, share, &kept, &charged)) {
    const Status no_room = NoRoom();
    DropIfUnused(share);
    return no_room;
  }
  lock.Unlock();
  return Make(std::move(kept), charged, share);
}

Status BufferPool::AcquireLater(size_t bytes, std::string_view peer, Clock::time_point give_up,
                                Ready ready) {
  {
    const MutexLock lock(mutex_);
    BufferShare* const share = ShareOf(peer);
    if (waiting_.size() >= kMostWaiting || share->waiting >= kMostWaitingOfAPeer) {
      const Status no_room = NoRoom();
      DropIfUnused(share);
      return no_room;
    }
    ++share->waiting;
    waiting_.push_back({CapacityFor(bytes), share, give_up, std::move(ready)});
  }
  if (wake_) wake_();
  return OkStatus();
}

size_t BufferPool::ServeWaiting(Clock::time_point now) {
  struct Served {
    Ready ready;
    BufferShare* share;
    size_t charged;
    PooledBuffer::Memory kept;
    Status refused;
  };
  std::vector<Served> served;
  size_t waiting = 0;
  {
    const MutexLock lock(mutex_);
    for (auto waiter = waiting_.begin(); waiter != waiting_.end();) {
      Served one{{}, waiter->share, 0, nullptr, OkStatus()};
      if (!Reserve(waiter->capacity, waiter->share, &one.kept, &one.charged)) {
        if (now < waiter->give_up) {
          ++waiter;
          continue;
        }
        one.refused = NoRoom();
      }
      one.ready = std::move(waiter->ready);
      --waiter->share->waiting;
      if (!one.refused.ok()) DropIfUnused(waiter->share);
      waiter = waiting_.erase(waiter);
      served.push_back(std::move(one));
    }
    waiting = waiting_.size();
  }
  for (Served& one : served) {
    one.ready(one.refused.ok() ? Make(std::move(one.kept), one.charged, one.share) : one.refused);
  }
  return waiting;
}

BufferShare* BufferPool::ShareOf(std::string_view peer) {
  BufferShare& share = shares_[std::string(peer)];
  if (share.peer.empty()) share.peer = peer;
  return &share;
}

void BufferPool::DropIfUnused(BufferShare* share) {
  if (share->buffers == 0 && share->waiting == 0) shares_.erase(shares_.find(share->peer));
}

bool BufferPool::Reserve(size_t capacity, BufferShare* share, PooledBuffer::Memory* kept,
                         size_t* charged) {
  const auto fits = [&](size_t bytes) HG_REQUIRES(mutex_) {
    const int64_t left = max_bytes_ - in_use_bytes_ - static_cast<int64_t>(bytes);
    if (share->buffers == 0) return left >= 0;
    const int64_t left_to_share = left - max_bytes_ / kFirstRepliesOnly;
    return share->held_bytes + static_cast<int64_t>(bytes) <= left_to_share;
  };
  auto found = kept_.lower_bound(capacity);
  if (found != kept_.end() && (found->first / kLargestWaste > capacity || !fits(found->first))) {
    found = kept_.end();
  }
  *charged = found == kept_.end() ? capacity : found->first;
  if (!fits(*charged)) return false;
  const auto charge = static_cast<int64_t>(*charged);
  if (found != kept_.end()) {
    *kept = std::move(found->second);
    kept_bytes_ -= charge;
    kept_.erase(found);
  }
  while (in_use_bytes_ + kept_bytes_ + charge > max_bytes_) {  // the smallest go first
    kept_bytes_ -= static_cast<int64_t>(kept_.begin()->first);
    kept_.erase(kept_.begin());
  }
  in_use_bytes_ += charge;
  share->held_bytes += charge;
  ++share->buffers;
  return true;
}

StatusOr<PooledBuffer> BufferPool::Make(PooledBuffer::Memory kept, size_t charged,
                                        BufferShare* share) {
  if (kept == nullptr) {
    kept.reset(static_cast<std::byte*>(
        ::operator new (charged, std::align_val_t{kAlignment}, std::nothrow)));
  }
  const bool none = kept == nullptr;
  if (none) {
    Return(nullptr, charged, share);
    FreeKept();
    return Unavailable("no memory for a reply of {} bytes: try again", charged);
  }
  return PooledBuffer(shared_from_this(), share, std::move(kept), charged);
}

Status BufferPool::NoRoom() const {
  return Unavailable("replies of {} bytes wait to be sent, at most {} may: try again",
                     in_use_bytes_, max_bytes_);
}

void BufferPool::Return(PooledBuffer::Memory data, size_t capacity, BufferShare* share) {
  bool waited_for = false;
  {
    const MutexLock lock(mutex_);
    in_use_bytes_ -= static_cast<int64_t>(capacity);
    share->held_bytes -= static_cast<int64_t>(capacity);
    --share->buffers;
    DropIfUnused(share);
    if (data != nullptr) {
      kept_bytes_ += static_cast<int64_t>(capacity);
      kept_.emplace(capacity, std::move(data));
    }
    waited_for = !waiting_.empty();
  }
  if (waited_for && wake_) wake_();
}

void BufferPool::FreeKept() {
  std::multimap<size_t, PooledBuffer::Memory> freed;  // outside the lock
  const MutexLock lock(mutex_);
  freed.swap(kept_);
  kept_bytes_ = 0;
}

BufferPool::Usage BufferPool::usage() const {
  const MutexLock lock(mutex_);
  return {in_use_bytes_, kept_bytes_, shares_.size(), waiting_.size()};
}

StatusOr<PooledBuffer> ReplyMemory::Acquire(size_t bytes) {
  missing_bytes_ = 0;
  if (given_.data() != nullptr && given_.capacity() >= bytes) return std::move(given_);
  StatusOr<PooledBuffer> buffer = pool_->Acquire(bytes, peer_);
  if (absl::IsUnavailable(buffer.status())) missing_bytes_ = bytes;
  return buffer;
}

}  // namespace halograph::server
