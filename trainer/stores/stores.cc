#include "trainer/stores/stores.h"

#include <limits>
#include <utility>

#include "client/own_part/own_parts.h"
#include "trainer/checkpoint/files/checkpoint_folder.h"

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

namespace {

// Of the checkpoints of a run, newest first. What cannot be read is said where one is taken.
std::vector<std::string> SnapshotsOf(const CheckpointOptions& options) {
  std::vector<std::string> names;
  const auto found = ListCheckpoints(options.folder);
  if (!found.ok()) return names;
  for (auto entry = found->rbegin(); entry != found->rend(); ++entry) {
    const auto manifest = ReadCheckpointManifest(entry->second);
    if (manifest.ok() && manifest->snapshot.has_value()) names.push_back(manifest->snapshot->name);
  }
  return names;
}

}  // namespace

StatusOr<Stores> OpenStoresOf(const TrainOptions& options, const CancelToken* cancel) {
  StoreOptions where = StoreOptionsOf(options);
  // A run that goes on sets its learnt inputs back to one of these anyway.
  if (options.checkpoint.resume && !options.state.folder.empty()) {
    std::vector<std::string>& names = where.state.fall_back_to;
    for (std::string& name : SnapshotsOf(options.checkpoint)) names.push_back(std::move(name));
  }
  if (options.part_only) {
    HG_ASSIGN_OR_RETURN(const int parts, CountPartsOf(options.graph));
    where.part_alone = PartOfRank(options.rank, parts, options.world_size);
  }
  return OpenStores(where, cancel);
}

}  // namespace halograph
