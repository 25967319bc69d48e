#include "common/base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include <pthread.h>

#include "common/base/mutex.h"

namespace halograph {
namespace {

constexpr size_t kThreadNameBytes = 15;  // the kernel's limit

// One parallel loop. Helpers hold it by shared_ptr: one that starts after the loop has returned
// finds no chunk left and touches nothing else, `body` least of all.
class Loop {
 public:
  Loop(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body)
      : n_(n), grain_(grain), chunks_((n - 1) / grain + 1), body_(body) {}

  [[nodiscard]] int64_t chunks() const { return chunks_; }

  // Runs chunks until none is left to take.
  void Work() {
    int64_t ran = 0;
    for (;; ++ran) {
      const int64_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunks_) break;
      const int64_t begin = chunk * grain_;
      body_(begin, begin + std::min(grain_, n_ - begin));
    }
    if (ran == 0) return;
    const MutexLock lock(mutex_);
    finished_ += ran;
    if (finished_ == chunks_) done_.NotifyAll();
  }

  // Returns when every chunk has been run; what they wrote is visible then.
  void Wait() {
    const MutexLock lock(mutex_);
    done_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return finished_ == chunks_; });
  }

 private:
  const int64_t n_;
  const int64_t grain_;
  const int64_t chunks_;
  const std::function<void(int64_t, int64_t)>& body_;  // the caller's, alive until Wait returns
  std::atomic<int64_t> next_{0};
  Mutex mutex_;
  CondVar done_;
  int64_t finished_ HG_GUARDED_BY(mutex_) = 0;
};

}  // namespace

ThreadPool::ThreadPool(std::string name, size_t threads, size_t queue_capacity)
    : queue_(queue_capacity) {
  name.resize(std::min(name.size(), kThreadNameBytes));
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) {
    ThreadPlace* const place = &places_.emplace_back();
    threads_.emplace_back([this, place, name] {
      pthread_setname_np(pthread_self(), name.c_str());
      place->Begin();
      while (auto task = queue_.Pop()) {
        const int64_t asked = place->asked();
        busy_.fetch_add(1, std::memory_order_relaxed);
        (*task)();
        busy_.fetch_sub(1, std::memory_order_relaxed);
        place->Return(asked);
      }
      place->End();
    });
  }
}

ThreadPool::~ThreadPool() { Shutdown(); }

bool ThreadPool::TrySubmit(std::function<void()> task) { return queue_.TryPush(task); }

void ThreadPool::MoveAside() {
  for (ThreadPlace& place : places_) place.LeaveCaller();
}

void ThreadPool::Shutdown() {
  queue_.Close();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void ParallelFor(ThreadPool* pool, int64_t n, int64_t grain,
                 const std::function<void(int64_t begin, int64_t end)>& body) {
  if (n <= 0) return;
  const auto loop = std::make_shared<Loop>(n, std::max<int64_t>(grain, 1), body);
  if (pool != nullptr) {
    const int64_t helpers = std::min(static_cast<int64_t>(pool->threads()), loop->chunks() - 1);
    for (int64_t i = 0; i < helpers; ++i) {
      try {
        if (!pool->TrySubmit([loop] { loop->Work(); })) break;
      } catch (const std::bad_alloc&) {
        break;  // who was submitted works on `body`: it must stay
      }
    }
  }
  loop->Work();
  loop->Wait();
}

}  // namespace halograph
