#include "server/runtime/waiting_calls.h"

#include <algorithm>
#include <iterator>

namespace halograph::server {

Status WaitingCalls::Add(Ready ready, Clock::time_point until, Go go, std::string peer) {
  bool is_ready = false;
  std::list<Waiter> own;
  {
    const MutexLock lock(mutex_);
    if (closed_) return Unavailable("this server is shutting down");
    if (waiting_.size() >= most_) {
      return Unavailable("busy: {} calls wait for pushes that they must show: try again", most_);
    }
    const auto of_peer = std::count_if(waiting_.begin(), waiting_.end(),
                                       [&](const Waiter& waiter) { return waiter.peer == peer; });
    const size_t share = std::max<size_t>(1, most_ / 4);
    if (!peer.empty() && static_cast<size_t>(of_peer) >= share) {
      return Unavailable(
          "busy: {} calls of this connection wait for pushes that they must show, a quarter of all "
          "that may: try again",
          of_peer);
    }
    own.push_back({std::move(ready), until, std::move(go), std::move(peer)});
    // Looked at under the lock: what made it ready meanwhile will not call Serve again.
    is_ready = own.front().ready();
    if (!is_ready) waiting_.splice(waiting_.end(), own);
  }
  if (is_ready) {
    own.front().go(OkStatus());
  } else if (wake_) {
    wake_();
  }
  return OkStatus();
}

size_t WaitingCalls::Serve(Clock::time_point now) {
  std::list<Waiter> go_on;
  size_t left = 0;
  {
    const MutexLock lock(mutex_);
    for (auto waiter = waiting_.begin(); waiter != waiting_.end();) {
      const auto next = std::next(waiter);
      if (now >= waiter->until || waiter->ready()) {
        go_on.splice(go_on.end(), waiting_, waiter);
      }
      waiter = next;
    }
    left = waiting_.size();
  }
  for (const Waiter& waiter : go_on) waiter.go(OkStatus());
  return left;
}

void WaitingCalls::Close() {
  std::list<Waiter> ended;
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    ended.swap(waiting_);
  }
  for (const Waiter& waiter : ended) {
    waiter.go(Unavailable("this server is shutting down, and takes no more pushes to wait for"));
  }
}

size_t WaitingCalls::size() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

}  // namespace halograph::server
