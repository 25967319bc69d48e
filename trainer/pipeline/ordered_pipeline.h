// Items 0, 1, 2, ... made by background threads and delivered in that order. Bounded: at most
// `capacity` items are in the making or waiting to be taken; a thread that is ahead waits. With
// capacity 0 nothing is made ahead, and no thread started: Next makes the item.
// Next and Close are for one consumer thread; `produce` is called from several threads at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace halograph {

template <typename T>
class OrderedPipeline {
 public:
  using Produce = std::function<StatusOr<T>(int64_t index)>;

  // Requires count >= 0 and threads > 0. More threads than capacity are not started.
  OrderedPipeline(int64_t count, size_t threads, size_t capacity, Produce produce)
      : count_(count), produce_(std::move(produce)), slots_(capacity) {
    for (size_t i = 0; i < std::min(threads, capacity); ++i) {
      threads_.emplace_back([this] { Work(); });
    }
  }
  ~OrderedPipeline() { Close(); }
  OrderedPipeline(const OrderedPipeline&) = delete;
  OrderedPipeline& operator=(const OrderedPipeline&) = delete;

  // Waits for the next item; nullopt after the last. The error of item i comes once the items
  // before it were delivered, and again from every later call; no further item is begun.
  //   Cancelled   after Close
  //   Internal    `produce` threw: what() is in the message
  [[nodiscard]] StatusOr<std::optional<T>> Next() {
    MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    if (delivered_ == count_ && !closed_) return std::optional<T>();
    if (slots_.empty()) {
      if (closed_) return Cancelled("minibatch pipeline was closed");
      const int64_t index = delivered_;
      lock.Unlock();
      return MakeNow(index);
    }
    auto& slot = slots_[delivered_ % slots_.size()];
    ready_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return closed_ || slot.has_value(); });
    if (closed_) return Cancelled("minibatch pipeline was closed");
    StatusOr<T> item = std::move(*slot);
    slot.reset();
    if (!item.ok()) {
      failure_ = item.status();
      return failure_;
    }
    ++delivered_;
    lock.Unlock();
    room_.NotifyOne();
    return std::optional<T>(std::move(item).value());
  }

  // Begins no more items, waits for those in the making, joins the threads. Idempotent. What
  // `produce` may be waiting on must be ended first, or this waits for it.
  void Close() {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
    }
    room_.NotifyAll();
    ready_.NotifyAll();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  StatusOr<std::optional<T>> MakeNow(int64_t index) {
    StatusOr<T> item = ProduceCaught(index);
    const MutexLock lock(mutex_);
    if (!item.ok()) {
      failure_ = item.status();
      return failure_;
    }
    ++delivered_;
    return std::optional<T>(std::move(item).value());
  }

  void Work() {
    for (;;) {
      int64_t index = 0;
      {
        const MutexLock lock(mutex_);
        room_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) {
          return Finished() || claimed_ < delivered_ + Capacity();
        });
        if (Finished()) return;
        index = claimed_++;
      }
      StatusOr<T> item = ProduceCaught(index);
      const MutexLock lock(mutex_);
      if (!item.ok()) failed_ = true;
      slots_[index % slots_.size()].emplace(std::move(item));
      ready_.NotifyAll();
      if (failed_) room_.NotifyAll();
    }
  }

  StatusOr<T> ProduceCaught(int64_t index) {
    try {
      return produce_(index);
    } catch (const std::exception& error) {
      return Internal("preparing minibatch {}: {}", index, error.what());
    }
  }

  bool Finished() const HG_REQUIRES(mutex_) { return closed_ || failed_ || claimed_ == count_; }
  int64_t Capacity() const HG_REQUIRES(mutex_) { return static_cast<int64_t>(slots_.size()); }

  const int64_t count_;
  const Produce produce_;
  Mutex mutex_;
  CondVar room_;   // an item was delivered, or there is no more to do
  CondVar ready_;  // an item was made
  // Item i waits in slot i modulo the capacity: claims never run further ahead than that.
  std::vector<std::optional<StatusOr<T>>> slots_ HG_GUARDED_BY(mutex_);
  int64_t claimed_ HG_GUARDED_BY(mutex_) = 0;
  int64_t delivered_ HG_GUARDED_BY(mutex_) = 0;
  bool failed_ HG_GUARDED_BY(mutex_) = false;
  bool closed_ HG_GUARDED_BY(mutex_) = false;
  Status failure_ HG_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace halograph
