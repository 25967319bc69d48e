// A fixed number of threads behind a bounded queue, and a parallel loop over them.
// Thread-safe. The destructor runs what is queued, then joins.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/bounded_queue.h"
#include "common/base/thread_place.h"

namespace halograph {

class ThreadPool {
 public:
  // Requires threads > 0 and queue_capacity > 0. `name` shows in ps and gdb (15 bytes are kept).
  ThreadPool(std::string name, size_t threads, size_t queue_capacity);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // False at once if the queue is full or Shutdown was called; the task is then not run.
  // Tasks must not throw.
  [[nodiscard]] bool TrySubmit(std::function<void()> task);

  // For a caller that goes on working beside the tasks that it is about to submit. The waiting
  // threads run their next task on other processors than the caller's. Without this, a kernel may
  // wake a thread on the caller's processor although another one is idle, and leave both there for
  // milliseconds (in virtual machines, a processor that sleeps looks taken). Each thread may run
  // anywhere again when its task ends.
  void MoveAside();

  // Takes no more tasks, runs the queued ones, joins. Idempotent; not from a task.
  void Shutdown();

  [[nodiscard]] size_t threads() const { return threads_.size(); }
  // Threads that run a task now.
  [[nodiscard]] size_t busy() const { return busy_.load(std::memory_order_relaxed); }
  [[nodiscard]] size_t queued() const { return queue_.size(); }
  [[nodiscard]] size_t queue_capacity() const { return queue_.capacity(); }

 private:
  BoundedQueue<std::function<void()>> queue_;
  std::atomic<size_t> busy_ = 0;
  std::deque<ThreadPlace> places_;  // of the threads
  std::vector<std::thread> threads_;
};

// Calls body(begin, end) over disjoint chunks of [0, n) of at most `grain` items, from the
// caller's thread and, where `pool` is not null and its queue takes them, from up to
// `pool->threads()` more; returns when all are done. Which thread runs a chunk is not defined:
// body must give the same result whatever the split. Safe to call from a task of the same pool
// (the caller works too, so it cannot deadlock).
void ParallelFor(ThreadPool* pool, int64_t n, int64_t grain,
                 const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace halograph
