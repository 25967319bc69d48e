#include "server/runtime/dispatcher.h"

namespace halograph::server {

Ticket& Ticket::operator=(Ticket&& other) noexcept {
  if (this != &other) {
    Leave();
    dispatcher_ = std::exchange(other.dispatcher_, nullptr);
    bytes_ = other.bytes_;
  }
  return *this;
}

Ticket::~Ticket() { Leave(); }

void Ticket::ReleaseRequest() {
  if (dispatcher_ != nullptr) dispatcher_->Release(std::exchange(bytes_, 0));
}

void Ticket::Leave() {
  if (dispatcher_ != nullptr) std::exchange(dispatcher_, nullptr)->Leave(bytes_);
}

Dispatcher::Dispatcher(const DispatcherLimits& limits)
    : limits_(limits), pool_("hg-work", limits.threads, limits.queue) {
  if (limits.slow_threads > 0) {
    slow_pool_ = std::make_unique<ThreadPool>("hg-slow", limits.slow_threads, limits.slow_queue);
  }
}

Dispatcher::~Dispatcher() { Shutdown(); }

StatusOr<Ticket> Dispatcher::Enter(int64_t request_bytes) {
  const MutexLock lock(mutex_);
  if (closed_) return Unavailable("this server is shutting down and takes no new calls");
  if (request_bytes_ > 0 && request_bytes_ + request_bytes > limits_.request_bytes) {
    return Unavailable("busy: requests of {} bytes are in work, at most {} may be: try again",
                       request_bytes_, limits_.request_bytes);
  }
  ++in_flight_;
  request_bytes_ += request_bytes;
  return Ticket(this, request_bytes);
}

Status Dispatcher::Run(std::function<void()> task) {
  if (pool_.TrySubmit(std::move(task))) return OkStatus();
  return Unavailable("busy: the queue of {} calls is full: try again", pool_.queue_capacity());
}

Status Dispatcher::RunSlow(std::function<void()> task) {
  if (slow_pool_->TrySubmit(std::move(task))) return OkStatus();
  return Unavailable("busy: {} calls that take long wait for others like them: try again",
                     slow_pool_->queue_capacity());
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
  if (slow_pool_ != nullptr) slow_pool_->Shutdown();
  pool_.Shutdown();
}

bool Dispatcher::draining() const {
  const MutexLock lock(mutex_);
  return closed_;
}

int64_t Dispatcher::in_flight() const {
  const MutexLock lock(mutex_);
  return in_flight_;
}

void Dispatcher::Release(int64_t bytes) {
  const MutexLock lock(mutex_);
  request_bytes_ -= bytes;
}

void Dispatcher::Leave(int64_t bytes) {
  const MutexLock lock(mutex_);  // notified under it: the waiter may destroy this next
  request_bytes_ -= bytes;
  if (--in_flight_ == 0) empty_.NotifyAll();
}

}  // namespace halograph::server
