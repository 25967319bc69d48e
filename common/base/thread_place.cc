#include "common/base/thread_place.h"

namespace halograph {

void ThreadPlace::Begin() {
  const MutexLock lock(mutex_);
  thread_ = ::pthread_self();
  alive_ = true;
}

void ThreadPlace::End() {
  const MutexLock lock(mutex_);
  alive_ = false;
}

void ThreadPlace::LeaveCaller() {
  const int processor = ::sched_getcpu();
  if (processor < 0 || processor >= CPU_SETSIZE) return;
  const MutexLock lock(mutex_);
  ++asked_;
  if (!alive_) return;
  if (!away_ && ::pthread_getaffinity_np(thread_, sizeof(home_), &home_) != 0) return;
  cpu_set_t others = home_;
  CPU_CLR(static_cast<size_t>(processor), &others);
  if (CPU_COUNT(&others) == 0) return;
  if (::pthread_setaffinity_np(thread_, sizeof(others), &others) == 0) away_ = true;
}

int64_t ThreadPlace::asked() {
  const MutexLock lock(mutex_);
  return asked_;
}

void ThreadPlace::Return(int64_t asked) {
  const MutexLock lock(mutex_);
  if (!away_ || asked_ != asked) return;
  // Where that fails the thread can run as well.
  static_cast<void>(::pthread_setaffinity_np(thread_, sizeof(home_), &home_));
  away_ = false;
}

}  // namespace halograph
