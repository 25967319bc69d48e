#include "trainer/stores/stores.h"

namespace halograph {

StoreOptions StoreOptionsOf(const TrainOptions& options) {
  // Minibatches are prepared side by side, each by one thread: none shares the work of a call.
  return {.graph = options.graph,
          .servers = options.servers,
          .topology = options.topology,
          .cache_dir = options.cache_dir,
          .local = options.local,
          .verify = options.verify,
          .timeout = options.timeout,
          .rank = options.rank,
          .world_size = options.world_size};
}

}  // namespace halograph
