// Calls that are started and not waited for: StartPull, StartLayer and their like of the stores.
//
// Each has a context of its own. From the start until `done` is called, context, requests, what
// they point to and the results belong to the store: nobody else touches them. `done` is called
// once, whatever happens, and may destroy them. What is left to do when answers have come, `done`
// last of it, is posted (CallContext::post): so the thread that drives a client's calls works for
// none of them, and no thread waits for any. A store that asks nobody does it all, and calls
// `done`, within Start. A store outlives the calls that it started; who wants them to end cancels
// the context's token.
#pragma once

#include <atomic>
#include <chrono>
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
  // Waits for a piece and runs it. False: none has come by the deadline.
  bool RunOne(const std::optional<std::chrono::steady_clock::time_point>& deadline = {}) {
    std::function<void()> work;
    {
      const MutexLock lock(mutex_);
      const auto any = [&]() HG_REQUIRES(mutex_) { return !work_.empty(); };
      if (!deadline.has_value()) {
        changed_.Wait(mutex_, any);
      } else if (!changed_.WaitUntil(mutex_, *deadline, any)) {
        return false;
      }
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
    return true;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> work_ HG_GUARDED_BY(mutex_);
};

// What `work` gives; Internal with what it throws.
[[nodiscard]] inline Status RunCaught(const std::function<Status()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return Internal("{}", error.what());
  }
}

// A call in two halves: the rest is under way while this thread does its own. `done` gets the first
// error, the rest's before the own, when both have ended.
class TwoHalves {
 public:
  explicit TwoHalves(StatusDone done) : done_(std::move(done)) {}
  // Each once. What `own` throws is Internal: it waits until the rest has ended.
  void EndRest(Status status) { End(&rest_, std::move(status)); }
  void DoOwn(const std::function<Status()>& own) { End(&own_, RunCaught(own)); }

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

// Waits for what start(post, done) starts: what it posts is done here. `late` is called if it has
// not ended by the deadline, and makes it end.
template <typename Result>
[[nodiscard]] Result AwaitPosted(
    const std::function<void(const PostWork& post, std::function<void(Result)> done)>& start,
    std::optional<std::chrono::steady_clock::time_point> deadline = {},
    const std::function<void()>& late = {}) {
  PostedWork work;
  std::optional<Result> result;
  // By way of the work: whichever thread it comes on.
  start([&work](std::function<void()> piece) { work.Post(std::move(piece)); },
        [&](Result end) {
          work.Post([&result, end = std::move(end)]() mutable { result.emplace(std::move(end)); });
        });
  while (!result.has_value()) {
    if (work.RunOne(deadline)) continue;
    deadline.reset();
    late();
  }
  return std::move(*result);
}

// The blocking form of a call that start(context, done) starts. `late`: of a call that does not end
// at its deadline by itself, what makes it end; else null.
template <typename Result>
[[nodiscard]] Result StartAndWait(
    CallContext& context,
    const std::function<void(CallContext& inner, std::function<void(Result)> done)>& start,
    const std::function<void()>& late = {}) {
  CallContext inner = InnerContext(context);
  Result result = AwaitPosted<Result>(
      [&](const PostWork& post, std::function<void(Result)> done) {
        inner.post = post;
        start(inner, std::move(done));
      },
      late ? context.deadline : std::nullopt, late);
  context.stats += inner.stats;
  return result;
}

}  // namespace halograph
