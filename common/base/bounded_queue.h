// A first-in first-out queue with a fixed capacity between threads, closable from either end.
// Thread-safe. Every wait ends: by room, by an item, by Close, or by the deadline given.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "common/base/mutex.h"

namespace halograph {

template <typename T>
class BoundedQueue {
 public:
  // Requires capacity > 0.
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  // Waits for room. False, with `item` dropped, if the queue is or becomes closed.
  [[nodiscard]] bool Push(T item) {
    MutexLock lock(mutex_);
    room_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    lock.Unlock();
    ready_.NotifyOne();
    return true;
  }

  // False at once, `item` untouched, if the queue is full or closed.
  [[nodiscard]] bool TryPush(T& item) {
    {
      const MutexLock lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    ready_.NotifyOne();
    return true;
  }

  // Waits for an item; nullopt once the queue is closed and empty.
  [[nodiscard]] std::optional<T> Pop() {
    MutexLock lock(mutex_);
    ready_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return closed_ || !items_.empty(); });
    std::optional<T> item = TakeFirst();
    lock.Unlock();
    if (item.has_value()) room_.NotifyOne();
    return item;
  }

  // No item enters any more; items already in stay to be popped. Idempotent.
  void Close() {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
    }
    ready_.NotifyAll();
    room_.NotifyAll();
  }

  [[nodiscard]] size_t size() const {
    const MutexLock lock(mutex_);
    return items_.size();
  }
  [[nodiscard]] size_t capacity() const { return capacity_; }

 private:
  std::optional<T> TakeFirst() HG_REQUIRES(mutex_) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  const size_t capacity_;
  mutable Mutex mutex_;
  CondVar room_;
  CondVar ready_;
  std::deque<T> items_ HG_GUARDED_BY(mutex_);
  bool closed_ HG_GUARDED_BY(mutex_) = false;
};

}  // namespace halograph
