// Where a thread may run, taken from one processor for a while.
#pragma once

#include <cstdint>
#include <mutex>

#include <pthread.h>
#include <sched.h>

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
  std::mutex mutex_;
  bool alive_ = false;
  pthread_t thread_{};  // while alive
  int64_t asked_ = 0;
  bool away_ = false;
  cpu_set_t home_{};  // while away
};

}  // namespace halograph
