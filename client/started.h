// Calls that are started and not waited for: StartPull, StartLayer and their like of the stores.
//
// Each has a context of its own. It, the requests, what they point to and the results are the
// store's until `done` is called, which comes once, whatever happens, and are free within it. What
// is left to do when answers have come, `done` last of it, is posted (CallContext::post): so the
// thread that drives a client's calls works for none of them, and no thread waits for any. A store
// that asks nobody does it all, and calls `done`, within Start, and so does one whose calls wait
// for each other (client/cached). A store outlives the calls that it started; who wants them to end
// cancels the context's token.
#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "client/call_context.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace halograph {

using StatusDone = std::function<void(Status)>;

// Calls `done`, which is gone then.
template <typename Result>
void EndCall(std::function<void(Result)>&& done, Result result) {
  std::exchange(done, nullptr)(std::move(result));
}

// What has been posted, in order, for a thread to run.
class PostedWork {
 public:
  // Any thread.
  void Post(std::function<void()> work) {
    const MutexLock lock(mutex_);  // notified under the lock: this may be gone when it is free
    work_.push_back(std::move(work));
    changed_.NotifyOne();
  }
  // Waits for a piece and runs it.
  void RunOne() {
    std::function<void()> work;
    {
      const MutexLock lock(mutex_);
      changed_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return !work_.empty(); });
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> work_ HG_GUARDED_BY(mutex_);
};

// A call in two halves: the rest is under way while this thread does its own. `done` gets the first
// error, the rest's before the own, when both have ended.
class TwoHalves {
 public:
  explicit TwoHalves(StatusDone done) : done_(std::move(done)) {}
  // Each once. What `own` throws is Internal: it waits until the rest has ended.
  void EndRest(Status status) { End(&rest_, std::move(status)); }
  void DoOwn(const std::function<Status()>& own) {
    Status status;
    try {
      status = own();
    } catch (const std::exception& error) {
      status = Internal("{}", error.what());
    }
    End(&own_, std::move(status));
  }

 private:
  void End(Status* half, Status status) {
    *half = std::move(status);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    done_(rest_.ok() ? std::move(own_) : std::move(rest_));
  }

  const StatusDone done_;
  Status rest_;
  Status own_;
  std::atomic<int> left_ = 2;
};

// `done`, to be called once on any thread, posted as the context says: it is called, and what it
// holds is destroyed, where what was posted runs. The context may be gone then.
[[nodiscard]] inline StatusDone Posted(const CallContext& context, StatusDone done) {
  if (!context.post) return done;
  return [post = context.post, done = std::move(done)](Status status) mutable {
    post([done = std::move(done), status = std::move(status)] { done(status); });
  };
}

// The blocking form of a call that start(context, done) starts: what it posts is done here.
template <typename Result>
[[nodiscard]] Result StartAndWait(
    CallContext& context,
    const std::function<void(CallContext& inner, std::function<void(Result)> done)>& start) {
  PostedWork work;
  CallContext inner = InnerContext(context);
  inner.post = [&work](std::function<void()> piece) { work.Post(std::move(piece)); };
  std::optional<Result> result;
  // By way of the work: whichever thread it comes on.
  start(inner, [&](Result end) {
    work.Post([&result, end = std::move(end)]() mutable { result.emplace(std::move(end)); });
  });
  while (!result.has_value()) work.RunOne();
  context.stats += inner.stats;
  return std::move(*result);
}

}  // namespace halograph
