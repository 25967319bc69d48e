#include "server/runtime/dispatcher.h"

#include <string_view>

namespace halograph::server {
namespace {

std::unique_ptr<ThreadPool> PoolIfAny(const char* name, size_t threads, size_t queue) {
  return threads > 0 ? std::make_unique<ThreadPool>(name, threads, queue) : nullptr;
}

std::string_view Waiting(Lane lane) {
  switch (lane) {
    case Lane::kWork:
      return "calls";
    case Lane::kState:
      return "calls that may wait for the disk of the mutable tensors";
    case Lane::kSlow:
      return "calls that take long";
  }
  return "calls";
}

}  // namespace

std::string_view LaneName(Lane lane) {
  switch (lane) {
    case Lane::kWork:
      return "work";
    case Lane::kState:
      return "state";
    case Lane::kSlow:
      return "slow";
  }
  return "work";
}

Ticket& Ticket::operator=(Ticket&& other) noexcept {
  if (this != &other) {
    Leave();
    dispatcher_ = std::exchange(other.dispatcher_, nullptr);
    lane_ = other.lane_;
    bytes_ = other.bytes_;
  }
  return *this;
}

Ticket::~Ticket() { Leave(); }

void Ticket::ReleaseRequest() {
  if (dispatcher_ != nullptr) dispatcher_->Release(lane_, std::exchange(bytes_, 0));
}

Status Ticket::MoveTo(Lane lane) {
  if (dispatcher_ != nullptr) HG_RETURN_IF_ERROR(dispatcher_->Move(lane_, lane, bytes_));
  lane_ = lane;
  return OkStatus();
}

void Ticket::Leave() {
  if (dispatcher_ != nullptr) std::exchange(dispatcher_, nullptr)->Leave(lane_, bytes_);
}

Dispatcher::Dispatcher(const DispatcherLimits& limits)
    : limits_(limits),
      pool_("hg-work", limits.threads, limits.queue),
      state_pool_(PoolIfAny("hg-state", limits.state_threads, limits.state_queue)),
      slow_pool_(PoolIfAny("hg-slow", limits.slow_threads, limits.slow_queue)) {}

Dispatcher::~Dispatcher() { Shutdown(); }

StatusOr<Ticket> Dispatcher::Enter(int64_t request_bytes, Lane lane) {
  const MutexLock lock(mutex_);
  if (closed_) return Unavailable("this server is shutting down and takes no new calls");
  HG_RETURN_IF_ERROR(Charge(lane, request_bytes));
  ++in_flight_;
  return Ticket(this, lane, request_bytes);
}

Status Dispatcher::Charge(Lane lane, int64_t bytes) {
  if (request_bytes_ > 0 && request_bytes_ + bytes > limits_.request_bytes) {
    return Unavailable("busy: requests of {} bytes are in work, at most {} may be: try again",
                       request_bytes_, limits_.request_bytes);
  }
  const int64_t most = limits_.StateRequestBytes();
  if (lane == Lane::kState && state_request_bytes_ > 0 && state_request_bytes_ + bytes > most) {
    return Unavailable("busy: {} bytes are in work of {}, at most {} may be: try again",
                       state_request_bytes_, Waiting(lane), most);
  }
  request_bytes_ += bytes;
  if (lane == Lane::kState) state_request_bytes_ += bytes;
  return OkStatus();
}

Status Dispatcher::Move(Lane from, Lane to, int64_t bytes) {
  const MutexLock lock(mutex_);
  ReleaseLocked(from, bytes);
  Status charged = Charge(to, bytes);
  if (charged.ok()) return charged;
  request_bytes_ += bytes;
  if (from == Lane::kState) state_request_bytes_ += bytes;
  return charged;
}

ThreadPool& Dispatcher::PoolOf(Lane lane) {
  ThreadPool* pool = &pool_;
  if (lane == Lane::kState && state_pool_ != nullptr) pool = state_pool_.get();
  if (lane == Lane::kSlow && slow_pool_ != nullptr) pool = slow_pool_.get();
  return *pool;
}

const ThreadPool& Dispatcher::pool(Lane lane) const {
  return const_cast<Dispatcher*>(this)->PoolOf(lane);
}

Status Dispatcher::Run(std::function<void()> task, Lane lane) {
  ThreadPool& pool = PoolOf(lane);
  if (&pool == &pool_) {
    task = [this, counted = std::move(task)] {
      counted();
      tasks_ended_.fetch_add(1, std::memory_order_relaxed);
    };
  }
  if (pool.TrySubmit(std::move(task))) return OkStatus();
  return Unavailable("busy: the queue of {} {} is full: try again", pool.queue_capacity(),
                     Waiting(lane));
}

void Dispatcher::CloseGate() {
  const MutexLock lock(mutex_);
  closed_ = true;
}

bool Dispatcher::WaitUntilEmpty(std::chrono::nanoseconds timeout) {
  const MutexLock lock(mutex_);
  return empty_.WaitFor(mutex_, timeout, [&]() HG_REQUIRES(mutex_) { return in_flight_ == 0; });
}

void Dispatcher::Shutdown() {
  CloseGate();
  for (ThreadPool* const pool : {slow_pool_.get(), state_pool_.get(), &pool_}) {
    if (pool != nullptr) pool->Shutdown();
  }
}

bool Dispatcher::draining() const {
  const MutexLock lock(mutex_);
  return closed_;
}

int64_t Dispatcher::in_flight() const {
  const MutexLock lock(mutex_);
  return in_flight_;
}

int64_t Dispatcher::request_bytes() const {
  const MutexLock lock(mutex_);
  return request_bytes_;
}

void Dispatcher::ReleaseLocked(Lane lane, int64_t bytes) {
  request_bytes_ -= bytes;
  if (lane == Lane::kState) state_request_bytes_ -= bytes;
}

void Dispatcher::Release(Lane lane, int64_t bytes) {
  const MutexLock lock(mutex_);
  ReleaseLocked(lane, bytes);
}

void Dispatcher::Leave(Lane lane, int64_t bytes) {
  const MutexLock lock(mutex_);  // notified under it: the waiter may destroy this next
  ReleaseLocked(lane, bytes);
  if (--in_flight_ == 0) empty_.NotifyAll();
}

}  // namespace halograph::server
