// Calls that wait for what other calls do (pulls for pushes that they must show), without a thread:
// a pool full of waiting pulls could not run the push that they wait for. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace halograph::server {

class WaitingCalls {
 public:
  using Clock = std::chrono::steady_clock;
  // Whether the call may go on; quick, never blocks, and calls nothing of this object.
  using Ready = std::function<bool()>;
  // Makes it go on (OK: it is ready, or its time is up) or ends it; called once, without a lock.
  using Go = std::function<void(Status)>;

  // At most `most` calls wait at a time; of one peer a quarter of that, but one at least.
  explicit WaitingCalls(size_t most) : most_(most) {}

  // `go` may be called before this returns. Unavailable, and `go` is never called: `most` wait, or
  // as many as may of this peer (empty: of nobody), or the server ends.
  [[nodiscard]] Status Add(Ready ready, Clock::time_point until, Go go, std::string peer = "");
  // Lets those go on that can. Called when something was done that calls wait for, and now and
  // then. Returns how many still wait.
  size_t Serve(Clock::time_point now);
  // Ends those who wait with Unavailable, and all that come from here on.
  void Close();

  [[nodiscard]] size_t size() const;
  // `wake` is called when somebody begins to wait, on that thread, without a lock. Set it before
  // the first Add.
  void OnWait(std::function<void()> wake) { wake_ = std::move(wake); }

 private:
  struct Waiter {
    Ready ready;
    Clock::time_point until;
    Go go;
    std::string peer;
  };

  const size_t most_;
  std::function<void()> wake_;
  mutable Mutex mutex_;
  bool closed_ HG_GUARDED_BY(mutex_) = false;
  std::list<Waiter> waiting_ HG_GUARDED_BY(mutex_);
};

}  // namespace halograph::server
