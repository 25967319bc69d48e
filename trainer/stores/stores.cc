#include "trainer/stores/stores.h"

namespace halograph {

SamplerThreads SamplerThreadsOf(const TrainOptions& options) {
  // Behind servers there is nothing to help with.
  const bool here = options.servers.empty() || options.hybrid();
  return {.threads = options.sample_threads,
          .per_minibatch = here ? options.threads_per_minibatch : 1,
          .memory = options.sampler_memory};
}

StoreOptions StoreOptionsOf(const TrainOptions& options) {
  return {.graph = options.graph,
          .servers = options.servers,
          .topology = options.topology,
          .cache_dir = options.cache_dir,
          .local = options.local,
          .verify = options.verify,
          .sampling = SamplerThreadsOf(options),
          .timeout = options.timeout,
          .rank = options.rank,
          .world_size = options.world_size};
}

}  // namespace halograph
