// A race on purpose: two threads of our own pool write one plain integer. Built under
// ThreadSanitizer only, to prove that a build of that preset reports races and goes red.
#include <cstdio>
#include <cstdlib>
#include <latch>

#include "common/base/thread_pool.h"

namespace {

void Race(int* shared) {
  std::latch both(2);
  halograph::ThreadPool pool("race", 2, 2);
  for (int task = 1; task <= 2; ++task) {
    const bool submitted = pool.TrySubmit([shared, &both, task] {
      both.arrive_and_wait();  // from here on nothing orders the two
      // Writes at the very same moment may miss each other's traces: there are many.
      for (int i = 0; i < 10000; ++i) *const_cast<volatile int*>(shared) = task;
    });
    if (!submitted) std::abort();  // or the other would wait for ever
  }
}

}  // namespace

int main() {
  // On a busy machine one race of a hundred is missed: there are many of these, too.
  int shared = 0;
  for (int round = 0; round < 20; ++round) Race(&shared);
  std::printf("%d\n", shared);
  return 0;
}
