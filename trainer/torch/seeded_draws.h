// libtorch's own random numbers: initial weights, and nothing else, are drawn from them.
#pragma once

#include <cstdint>

#include "common/base/mutex.h"

namespace halograph {

// Seeds the generator that libtorch has for the whole process, and keeps other threads that ask
// likewise waiting, for as long as it lives: so what is drawn depends on the seed alone.
class SeededDraws {
 public:
  explicit SeededDraws(uint64_t seed);

 private:
  const MutexLock lock_;
};

}  // namespace halograph
