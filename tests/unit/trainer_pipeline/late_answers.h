// Answers to calls that are started: brought by one thread, which begins when so many are under way
// that no more come, and then brings the last one first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "client/call_context.h"
#include "common/base/mutex.h"

namespace halograph {

class LateAnswers {
 public:
  // The first `together` calls are answered when all of them are under way.
  explicit LateAnswers(int64_t together = 1) : together_(together), thread_([this] { Bring(); }) {}
  ~LateAnswers() {
    {
      const MutexLock lock(mutex_);
      ended_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
  }
  LateAnswers(const LateAnswers&) = delete;
  LateAnswers& operator=(const LateAnswers&) = delete;

  // A call, whose answer `work` takes.
  void Add(const PostWork& post, std::function<void()> work) {
    const MutexLock lock(mutex_);
    waiting_.push_back({post, std::move(work)});
    ++added_;
    most_ = std::max(most_, ++under_way_);
    changed_.NotifyAll();
  }
  void AwaitAdded(int64_t calls) {
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return added_ >= calls; });
  }
  [[nodiscard]] int64_t added() const {
    const MutexLock lock(mutex_);
    return added_;
  }
  // Calls that were under way at once.
  [[nodiscard]] int64_t most() const {
    const MutexLock lock(mutex_);
    return most_;
  }
  [[nodiscard]] std::thread::id thread() const { return thread_.get_id(); }

 private:
  struct Call {
    PostWork post;
    std::function<void()> work;
  };

  void Bring() {
    for (;;) {
      Call call;
      {
        const MutexLock lock(mutex_);
        changed_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) {
          return ended_ || (!waiting_.empty() && added_ >= together_);
        });
        if (waiting_.empty()) return;
        call = std::move(waiting_.back());
        waiting_.pop_back();
      }
      call.post([this, work = std::move(call.work)] {
        {
          const MutexLock lock(mutex_);
          --under_way_;
        }
        work();
      });
    }
  }

  const int64_t together_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Call> waiting_ HG_GUARDED_BY(mutex_);
  int64_t added_ HG_GUARDED_BY(mutex_) = 0;
  int64_t under_way_ HG_GUARDED_BY(mutex_) = 0;
  int64_t most_ HG_GUARDED_BY(mutex_) = 0;
  bool ended_ HG_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace halograph
