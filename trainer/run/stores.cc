#include "trainer/run/stores.h"

#include <limits>
#include <utility>

#include "client/own_part/own_parts.h"
#include "common/base/log.h"
#include "common/graph/manifest.h"

namespace halograph {

SamplerThreads SamplerThreadsOf(const TrainOptions& options) {
  // Behind servers there is nothing to help with, and tables are small (BuilderWorkspaces).
  const bool here = options.remote.servers.empty() || options.hybrid();
  return {.threads = options.sample_threads,
          .per_minibatch = here ? options.threads_per_minibatch : 1,
          .memory = here ? options.sampler_memory : std::numeric_limits<int64_t>::max()};
}

StatusOr<TrainOptions> WithOpenTls(const TrainOptions& options) {
  TrainOptions with = options;
  HG_RETURN_IF_ERROR(with.remote.OpenTls());
  return with;
}

StoreOptions StoreOptionsOf(const TrainOptions& options) {
  RemoteOptions remote = options.remote;
  remote.rank = options.rank;
  remote.column_of = options.rank;
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

void TellOfSubParts(const TrainOptions& options) {
  if (options.graph.empty()) return;  // the servers do not tell it
  const auto manifest = ReadGraphManifest(options.graph);
  if (!manifest.ok()) return;  // a machine may have parts only; what matters opening said
  const int64_t each = manifest->options.value("trainers_per_part", int64_t{1});
  const int parts = manifest->book.num_parts();
  const int ranks = options.world_size;
  if (each <= 1 || (ranks % parts == 0 && ranks / parts % each == 0)) return;
  spdlog::warn(
      "each of the graph's {} parts is divided among {} trainers, which makes {} ranks, but there "
      "are {}: a rank's seeds are not those of its sub-part; start a multiple of {} ranks, or "
      "partition with another --trainers-per-part",
      parts, each, parts * each, ranks, parts * each);
}

}  // namespace halograph
