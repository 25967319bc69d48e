// Where a thread may run, taken from one processor for a while.
#pragma once

#include <cstdint>

#include <pthread.h>
#include <sched.h>

#include "common/base/mutex.h"

namespace halograph {

// A hint throughout: where the system refuses, or a thread may run on one processor only, it stays
// where it may be. Thread-safe.
class ThreadPlace {
 public:
  // The thread whose place it is calls these two when it begins and before it ends.
  void Begin();
  void End();

  // Takes the caller's processor from those that the thread may run on, until Return.
  void LeaveCaller();
  // How often that was asked for.
  [[nodiscard]] int64_t asked();
  // Gives the thread back all that it had before; does nothing where it was asked to leave more
  // often than `asked` says, for what is still to come.
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
