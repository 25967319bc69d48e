#include "trainer/torch/seeded_draws.h"

#include "trainer/torch/torch_api.h"

namespace halograph {
namespace {

Mutex& TheGenerator() {
  static Mutex mutex;
  return mutex;
}

}  // namespace

SeededDraws::SeededDraws(uint64_t seed) : lock_(TheGenerator()) { torch::manual_seed(seed); }

}  // namespace halograph
