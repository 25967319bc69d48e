// Admits calls and runs them: a gate that counts the calls in flight and bounds the bytes of their
// requests, and bounded pools of threads, a lane each for calls of one kind. Thread-safe.
//
// A call passes the gate (Enter) and gets a ticket, and runs as a task on its lane (Run). Its
// request's bytes are given back when it is answered; it leaves the gate when its ticket is
// destroyed, after its reply was sent. Draining closes the gate and waits until every ticket is
// destroyed.
//
// Lanes keep what waits away from what computes: however many calls wait for a disk that is slow or
// hangs, they hold no thread of kWork, and not all of the bytes that requests may have. Of the
// processors all threads that compute have equal parts, by the kernel. So a lone push is as fast
// as a lone read, and as many threads as kWork has compete with the pushes that compute at one
// time. Those are few: a push mostly waits, for the disk or for its turn, as the pushes to one
// tensor are applied one after the other. Who wants fewer lowers the threads of kState.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/thread_pool.h"

namespace halograph::server {

class Dispatcher;

// Whose threads run a call.
enum class Lane : uint8_t {
  kWork,   // what computes, and waits for nobody: samples, features
  kState,  // what may wait for the disk of the mutable tensors, or for pushes before it: pushes
  kSlow,   // what takes long, or waits for pushes that are to come, whose threads it must not take
};

inline constexpr size_t kNumLanes = 3;
// "work", "state" or "slow": as metrics name the pools.
[[nodiscard]] std::string_view LaneName(Lane lane);

// A call's place in flight. Movable; gives the place back when destroyed. The dispatcher must
// outlive it.
class Ticket {
 public:
  Ticket() = default;
  Ticket(Ticket&& other) noexcept
      : dispatcher_(std::exchange(other.dispatcher_, nullptr)),
        lane_(other.lane_),
        bytes_(other.bytes_) {}
  Ticket& operator=(Ticket&& other) noexcept;
  ~Ticket();

  [[nodiscard]] bool valid() const { return dispatcher_ != nullptr; }
  // Gives back the bytes of the request: it is answered, and no longer held. The call stays in
  // flight.
  void ReleaseRequest();
  // The call goes on in `lane`. Unavailable, and it stays where it is: as Dispatcher::Enter.
  [[nodiscard]] Status MoveTo(Lane lane);

 private:
  friend class Dispatcher;
  Ticket(Dispatcher* dispatcher, Lane lane, int64_t bytes)
      : dispatcher_(dispatcher), lane_(lane), bytes_(bytes) {}
  void Leave();

  Dispatcher* dispatcher_ = nullptr;
  Lane lane_ = Lane::kWork;
  int64_t bytes_ = 0;
};

struct DispatcherLimits {
  // Of kWork.
  size_t threads = 1;
  size_t queue = 1;                  // calls that wait for a thread
  int64_t request_bytes = 16 << 20;  // of calls in flight that are not answered yet, together
  // Of the other lanes; one without threads has those of kWork, and its queue.
  size_t state_threads = 0;
  size_t state_queue = 16;
  size_t slow_threads = 0;
  size_t slow_queue = 16;

  // Of request_bytes those of kState have at most this: a quarter is left to the others.
  [[nodiscard]] int64_t StateRequestBytes() const { return request_bytes - request_bytes / 4; }
};

class Dispatcher {
 public:
  // Requires positive limits.
  explicit Dispatcher(const DispatcherLimits& limits);
  // Shuts down.
  ~Dispatcher();

  // Unavailable: draining, or the requests in flight, or those of the lane, would exceed their
  // bytes (a request that is alone is always admitted).
  [[nodiscard]] StatusOr<Ticket> Enter(int64_t request_bytes, Lane lane = Lane::kWork);

  // Runs `task` on the lane. Unavailable, and the task is not run, if its queue is full.
  [[nodiscard]] Status Run(std::function<void()> task, Lane lane = Lane::kWork);

  // Admits no more calls. Idempotent.
  void CloseGate();
  // Waits until no call is in flight; false if some still are after `timeout`.
  [[nodiscard]] bool WaitUntilEmpty(std::chrono::nanoseconds timeout);
  // Closes the gate, runs what is queued, joins the threads. Idempotent.
  void Shutdown();

  [[nodiscard]] bool draining() const;
  [[nodiscard]] int64_t in_flight() const;
  // Of requests in flight that are not answered; and how many may be.
  [[nodiscard]] int64_t request_bytes() const;
  [[nodiscard]] int64_t most_request_bytes() const { return limits_.request_bytes; }
  // Tasks that the threads of kWork are through with, since the start.
  [[nodiscard]] uint64_t tasks_ended() const { return tasks_ended_; }
  // The lane's; that of kWork if it has no threads of its own.
  [[nodiscard]] const ThreadPool& pool(Lane lane = Lane::kWork) const;

 private:
  friend class Ticket;
  [[nodiscard]] ThreadPool& PoolOf(Lane lane);
  void Leave(Lane lane, int64_t bytes);
  void Release(Lane lane, int64_t bytes);
  [[nodiscard]] Status Charge(Lane lane, int64_t bytes) HG_REQUIRES(mutex_);
  [[nodiscard]] Status Move(Lane from, Lane to, int64_t bytes);
  void ReleaseLocked(Lane lane, int64_t bytes) HG_REQUIRES(mutex_);

  const DispatcherLimits limits_;
  mutable Mutex mutex_;
  CondVar empty_;
  bool closed_ HG_GUARDED_BY(mutex_) = false;
  int64_t in_flight_ HG_GUARDED_BY(mutex_) = 0;
  int64_t request_bytes_ HG_GUARDED_BY(mutex_) = 0;
  int64_t state_request_bytes_ HG_GUARDED_BY(mutex_) = 0;  // of these
  std::atomic<uint64_t> tasks_ended_{0};
  ThreadPool pool_;
  std::unique_ptr<ThreadPool> state_pool_;  // or null
  std::unique_ptr<ThreadPool> slow_pool_;   // or null
};

}  // namespace halograph::server
