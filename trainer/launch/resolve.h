// What a run's options mean beside each other, the models that there are, and the machine.
#pragma once

#include "common/base/status.h"
#include "trainer/launch/launch_env.h"
#include "trainer/options/train_options.h"

namespace halograph {

// Of the registry, and auto (auto_model.h).
[[nodiscard]] ModelWords RegisteredModels();

// Fills in what follows from others: topology, model_options (what auto is waits for the graph:
// ResolveModel), eval_fanouts, eval_batch_size,
// threads, sampler_memory, prefetch_memory, cache_memory_default, and with tune also
// sample_threads. What the ranks of this machine
// share is divided by their number, as the environment says and logical_ranks. Requires a valid
// model.
void Resolve(TrainOptions* options, const Environment& environment = ProcessEnvironment());

// InvalidArgument naming the option, the value found and what is allowed.
[[nodiscard]] Status Validate(const TrainOptions& options);

}  // namespace halograph
