// The processors that a thread may run on. It can be kept off one of them for a while.
#pragma once

#include <cstdint>

#include <pthread.h>
#include <sched.h>

#include "common/base/mutex.h"

namespace halograph {

// All of this is a hint: if the system refuses, or the thread may run on one processor only,
// nothing changes. Thread-safe.
class ThreadPlace {
 public:
  // The thread itself calls Begin when it begins, and End before it ends.
  void Begin();
  void End();

  // Keeps the thread off the caller's processor until Return.
  void LeaveCaller();
  // How often LeaveCaller was called.
  [[nodiscard]] int64_t asked();
  // Gives the thread all its processors back. Does nothing if LeaveCaller was called more than
  // `asked` times: the later call is for a task that is still to come.
  void Return(int64_t asked);

 private:
  Mutex mutex_;
  bool alive_ HG_GUARDED_BY(mutex_) = false;
  pthread_t thread_ HG_GUARDED_BY(mutex_){};  // while alive
  int64_t asked_ HG_GUARDED_BY(mutex_) = 0;
  bool away_ HG_GUARDED_BY(mutex_) = false;
  cpu_set_t home_ HG_GUARDED_BY(mutex_){};  // while away
};

}  // namespace halograph
