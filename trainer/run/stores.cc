#include "trainer/run/stores.h"

#include <limits>
#include <utility>

#include "client/own_part/own_parts.h"

namespace halograph {

SamplerThreads SamplerThreadsOf(const TrainOptions& options) {
  // Behind servers there is nothing to help with, and tables are small (BuilderWorkspaces).
  const bool here = options.remote.servers.empty() || options.hybrid();
  return {.threads = options.sample_threads,
          .per_minibatch = here ? options.threads_per_minibatch : 1,
          .memory = here ? options.sampler_memory : std::numeric_limits<int64_t>::max()};
}

StoreOptions StoreOptionsOf(const TrainOptions& options) {
  RemoteOptions remote = options.remote;
  remote.rank = options.rank;
  return {.graph = options.graph,
          .remote = std::move(remote),
          .topology = options.topology,
          .cache_dir = options.cache_dir,
          .local = options.local,
          .verify = options.verify,
          .sampling = SamplerThreadsOf(options),
          .state = ToStateOptions(options.state),
          .world_size = options.world_size};
}

StatusOr<Stores> OpenStoresOf(const TrainOptions& options, const ChooseState& choose,
                              const CancelToken* cancel) {
  StoreOptions where = StoreOptionsOf(options);
  if (options.part_only) {
    HG_ASSIGN_OR_RETURN(const int parts, CountPartsOf(options.graph));
    where.part_alone = PartOfRank(options.rank, parts, options.world_size);
  }
  return OpenStoresWith(where, choose, cancel);
}

}  // namespace halograph
