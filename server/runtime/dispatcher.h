// Admits calls and runs them: a gate that counts the calls in flight and bounds the bytes of their
// requests, one bounded pool of threads, and a small one for calls that take long. Thread-safe.
//
// A call passes the gate (Enter) and gets a ticket, and runs as a task on the pool (Run). Its
// request's bytes are given back when it is answered; it leaves the gate when its ticket is
// destroyed, after its reply was sent. Draining closes the gate and waits until every ticket is
// destroyed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/thread_pool.h"

namespace halograph::server {

class Dispatcher;

// A call's place in flight. Movable; gives the place back when destroyed. The dispatcher must
// outlive it.
class Ticket {
 public:
  Ticket() = default;
  Ticket(Ticket&& other) noexcept
      : dispatcher_(std::exchange(other.dispatcher_, nullptr)), bytes_(other.bytes_) {}
  Ticket& operator=(Ticket&& other) noexcept;
  ~Ticket();

  [[nodiscard]] bool valid() const { return dispatcher_ != nullptr; }
  // Gives back the bytes of the request: it is answered, and no longer held. The call stays in
  // flight.
  void ReleaseRequest();

 private:
  friend class Dispatcher;
  Ticket(Dispatcher* dispatcher, int64_t bytes) : dispatcher_(dispatcher), bytes_(bytes) {}
  void Leave();

  Dispatcher* dispatcher_ = nullptr;
  int64_t bytes_ = 0;
};

struct DispatcherLimits {
  size_t threads = 1;
  size_t queue = 1;                  // calls that wait for a thread
  int64_t request_bytes = 16 << 20;  // of calls in flight that are not answered yet, together
  // Of calls that may take long, or wait for others: those of the pool must not stand behind them.
  size_t slow_threads = 0;  // 0: there are no such calls
  size_t slow_queue = 16;
};

class Dispatcher {
 public:
  // Requires positive limits.
  explicit Dispatcher(const DispatcherLimits& limits);
  // Shuts down.
  ~Dispatcher();

  // Unavailable: draining, or the requests in flight would exceed their bytes (a request that is
  // alone is always admitted).
  [[nodiscard]] StatusOr<Ticket> Enter(int64_t request_bytes);

  // Runs `task` on the pool. Unavailable, and the task is not run, if the queue is full.
  [[nodiscard]] Status Run(std::function<void()> task);
  // The same on the threads for calls that take long. Requires that there are some.
  [[nodiscard]] Status RunSlow(std::function<void()> task);

  // Admits no more calls. Idempotent.
  void CloseGate();
  // Waits until no call is in flight; false if some still are after `timeout`.
  [[nodiscard]] bool WaitUntilEmpty(std::chrono::nanoseconds timeout);
  // Closes the gate, runs what is queued, joins the threads. Idempotent.
  void Shutdown();

  [[nodiscard]] bool draining() const;
  [[nodiscard]] int64_t in_flight() const;
  [[nodiscard]] const ThreadPool& pool() const { return pool_; }

 private:
  friend class Ticket;
  void Leave(int64_t bytes);
  void Release(int64_t bytes);

  const DispatcherLimits limits_;
  mutable Mutex mutex_;
  CondVar empty_;
  bool closed_ HG_GUARDED_BY(mutex_) = false;
  int64_t in_flight_ HG_GUARDED_BY(mutex_) = 0;
  int64_t request_bytes_ HG_GUARDED_BY(mutex_) = 0;
  ThreadPool pool_;
  std::unique_ptr<ThreadPool> slow_pool_;  // or null
};

}  // namespace halograph::server
