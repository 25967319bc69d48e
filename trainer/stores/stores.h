// How the options of a run open its stores.
#pragma once

#include "client/open/open_stores.h"
#include "trainer/launch/options.h"

namespace halograph {

// How the threads that prepare minibatches are shared out (PlanSampler).
[[nodiscard]] SamplerThreads SamplerThreadsOf(const TrainOptions& options);
// Where the graph of a run is.
[[nodiscard]] StoreOptions StoreOptionsOf(const TrainOptions& options);

}  // namespace halograph
