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

// The error of a damaged store, with what the checkpoints of the run allow to do about it.
Status WithSnapshots(const Status& error, const TrainOptions& options) {
  if (!absl::IsDataLoss(error) || options.state.folder.empty() || !options.checkpoint.resume ||
      !options.state.fall_back_to.empty()) {
    return error;
  }
  const auto found = ListCheckpoints(options.checkpoint.folder);
  if (!found.ok()) return error;
  std::string names;  // newest first
  for (auto entry = found->rbegin(); entry != found->rend(); ++entry) {
    const auto manifest = ReadCheckpointManifest(entry->second);
    if (!manifest.ok() || !manifest->snapshot.has_value()) continue;
    names += (names.empty() ? "" : ",") + manifest->snapshot->name;
  }
  if (names.empty()) return error;
  return DataLoss(
      "{}. To go on from the newest checkpoint whose learnt inputs are whole, and to lose what was "
      "pushed since, give this command --state-fall-back {}",
      Message(error), names);
}

}  // namespace

StatusOr<Stores> OpenStoresOf(const TrainOptions& options, const CancelToken* cancel) {
  StoreOptions where = StoreOptionsOf(options);
  if (options.part_only) {
    HG_ASSIGN_OR_RETURN(const int parts, CountPartsOf(options.graph));
    where.part_alone = PartOfRank(options.rank, parts, options.world_size);
  }
  auto stores = OpenStores(where, cancel);
  if (stores.ok()) return stores;
  return WithSnapshots(stores.status(), options);
}

}  // namespace halograph
