// A race on purpose: two threads count in one plain integer. Built under ThreadSanitizer only, to
// prove that a build of that preset reports races, in code that our own pool runs, and goes red.
#include <cstdio>

#include "common/base/thread_pool.h"

int main() {
  int counter = 0;
  {
    halograph::ThreadPool pool("race", 2, 8);
    for (int task = 0; task < 8; ++task) {
      if (!pool.TrySubmit([&counter] {
            for (int i = 0; i < 100000; ++i) ++*const_cast<volatile int*>(&counter);
          })) {
        return 1;
      }
    }
  }
  std::printf("counted %d of 800000\n", counter);
  return 0;
}
