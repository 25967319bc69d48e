#include "trainer/stores/stores.h"

#include <limits>

namespace halograph {

SamplerThreads SamplerThreadsOf(const TrainOptions& options) {
  // Behind servers there is nothing to help with, and tables are small (BuilderWorkspaces).
  const bool here = options.remote.servers.empty() || options.hybrid();
  return {.threads = options.sample_threads,
          .per_minibatch = here ? options.threads_per_minibatch : 1,
          .memory = here ? options.sampler_memory : std::numeric_limits<int64_t>::max()};
}

StoreOptions StoreOptionsOf(const TrainOptions& options) {
  return {.graph = options.graph,
          .servers = options.remote.servers,
          .topology = options.topology,
          .cache_dir = options.cache_dir,
          .local = options.local,
          .verify = options.verify,
          .sampling = SamplerThreadsOf(options),
          .timeout = options.remote.timeout,
          .max_message_bytes = options.remote.max_message_bytes,
          .calls_in_flight = options.remote.calls_in_flight,
          .channels_per_server = options.remote.channels_per_server,
          .rank = options.rank,
          .world_size = options.world_size};
}

}  // namespace halograph
