// A race on purpose: two threads of our own pool write one plain integer. Built under
// ThreadSanitizer only, to prove that a build of that preset reports races and goes red.
#include <cstdio>
#include <latch>

#include "common/base/thread_pool.h"

int main() {
  int shared = 0;
  std::latch both(2);
  {
    halograph::ThreadPool pool("race", 2, 2);
    for (int task = 1; task <= 2; ++task) {
      const bool submitted = pool.TrySubmit([&shared, &both, task] {
        both.arrive_and_wait();  // from here on nothing orders the two
        // Writes at the very same moment may miss each other's traces: there are many.
        for (int i = 0; i < 10000; ++i) *const_cast<volatile int*>(&shared) = task;
      });
      if (!submitted) return 1;
    }
  }
  std::printf("%d\n", shared);
  return 0;
}
