// The stores of a run on a partition folder, as the run opens them (trainer/run/stores.h).
#pragma once

#include "client/open/open_stores.h"
#include "common/state/options/state_folder_options.h"
#include "trainer/options/train_options.h"

namespace halograph {

inline StatusOr<Stores> OpenRunStores(const TrainOptions& options) {
  return OpenStores({.graph = options.graph,
                     .sampling = {.threads = options.sample_threads,
                                  .per_minibatch = options.threads_per_minibatch,
                                  .memory = options.sampler_memory},
                     .state = ToStateOptions(options.state)});
}

}  // namespace halograph
