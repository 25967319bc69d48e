// A first-in first-out queue with a fixed capacity between threads, closable from either end.
// Thread-safe. Every wait ends: by room, by an item, by Close, or by the deadline given.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

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
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    lock.unlock();
    ready_.notify_one();
    return true;
  }

  // False at once, `item` untouched, if the queue is full or closed.
  [[nodiscard]] bool TryPush(T& item) {
    {
      std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
    return true;
  }

  // Waits for an item; nullopt once the queue is closed and empty.
  [[nodiscard]] std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return closed_ || !items_.empty(); });
    return TakeLocked(lock);
  }

  // As Pop, but nullopt also when nothing came within `timeout`.
  [[nodiscard]] std::optional<T> PopFor(std::chrono::nanoseconds timeout) {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, timeout, [&] { return closed_ || !items_.empty(); });
    return TakeLocked(lock);
  }

  // No item enters any more; items already in stay to be popped. Idempotent.
  void Close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
    room_.notify_all();
  }

  [[nodiscard]] size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }
  [[nodiscard]] size_t capacity() const { return capacity_; }

 private:
  std::optional<T> TakeLocked(std::unique_lock<std::mutex>& lock) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    lock.unlock();
    room_.notify_one();
    return item;
  }

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable ready_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace halograph
