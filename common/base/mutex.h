// A mutex, a lock of it and a condition variable: the standard ones, with the annotations that let
// clang check who holds which lock (-Wthread-safety; preset `tsan`). Other compilers see no
// annotation. ThreadSanitizer sees the std::mutex within.
//
//   class Counter {
//    public:
//     void Add() {
//       const MutexLock lock(mutex_);
//       ++count_;
//       changed_.NotifyAll();
//     }
//     void WaitFor(int count) {
//       const MutexLock lock(mutex_);
//       changed_.Wait(mutex_, [&]() HG_REQUIRES(mutex_) { return count_ >= count; });
//     }
//
//    private:
//     Mutex mutex_;
//     CondVar changed_;
//     int count_ HG_GUARDED_BY(mutex_) = 0;
//   };
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#if defined(__clang__)
#define HG_THREAD_ANNOTATION(annotation) __attribute__((annotation))
#else
#define HG_THREAD_ANNOTATION(annotation)
#endif

// Of a member: it is read and written by who holds the mutex.
#define HG_GUARDED_BY(mutex) HG_THREAD_ANNOTATION(guarded_by(mutex))
// Of a function (after its parameters): who calls it holds the mutex, or does not.
#define HG_REQUIRES(mutex) HG_THREAD_ANNOTATION(requires_capability(mutex))
#define HG_EXCLUDES(mutex) HG_THREAD_ANNOTATION(locks_excluded(mutex))
// Of a function whose locking the check cannot follow; a comment says why it is right.
#define HG_NO_THREAD_SAFETY_ANALYSIS HG_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace halograph {

// Not recursive. Held by way of MutexLock.
class HG_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  friend class CondVar;
  void Lock() HG_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void Unlock() HG_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

  std::mutex mutex_;
};

// Holds a mutex from here to the end of the block, or to Unlock.
class HG_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) HG_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(&mutex) {
    mutex_->Lock();
  }
  ~MutexLock() HG_THREAD_ANNOTATION(release_capability()) {
    if (mutex_ != nullptr) mutex_->Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // Gives the mutex back before the end of the block. At most once.
  void Unlock() HG_THREAD_ANNOTATION(release_capability()) {
    std::exchange(mutex_, nullptr)->Unlock();
  }

 private:
  Mutex* mutex_;
};

// Every wait is of a condition, which is evaluated with the mutex held. A condition that reads
// guarded members says so: `[&]() HG_REQUIRES(mutex_) { ... }`. The waiting functions release the
// mutex while they wait and hold it again when they return; the check takes it for held all along.
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

  template <typename Condition>
  void Wait(Mutex& mutex, Condition holds) HG_REQUIRES(mutex) HG_NO_THREAD_SAFETY_ANALYSIS {
    Adopted lock(mutex);
    condition_.wait(lock.lock, std::move(holds));
  }

  // Whether the condition held in time.
  template <typename Rep, typename Period, typename Condition>
  bool WaitFor(Mutex& mutex, std::chrono::duration<Rep, Period> timeout, Condition holds)
      HG_REQUIRES(mutex) HG_NO_THREAD_SAFETY_ANALYSIS {
    Adopted lock(mutex);
    return condition_.wait_for(lock.lock, timeout, std::move(holds));
  }
  template <typename Clock, typename Duration, typename Condition>
  bool WaitUntil(Mutex& mutex, std::chrono::time_point<Clock, Duration> deadline, Condition holds)
      HG_REQUIRES(mutex) HG_NO_THREAD_SAFETY_ANALYSIS {
    Adopted lock(mutex);
    return condition_.wait_until(lock.lock, deadline, std::move(holds));
  }

 private:
  // The held mutex in the form that the standard library waits with; leaves it held, also when a
  // condition throws.
  struct Adopted {
    explicit Adopted(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) {}
    ~Adopted() { lock.release(); }
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable condition_;
};

}  // namespace halograph
