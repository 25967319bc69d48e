// What a training run needs of the graph: where it is, and which features.
#pragma once

#include <string>

#include "client/open/open_stores.h"
#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/launch/options.h"

namespace halograph {

// How the threads that prepare minibatches are shared out (PlanSampler).
[[nodiscard]] SamplerThreads SamplerThreadsOf(const TrainOptions& options);
// Where the graph of a run is.
[[nodiscard]] StoreOptions StoreOptionsOf(const TrainOptions& options);

}  // namespace halograph
