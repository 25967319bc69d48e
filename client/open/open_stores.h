// Opens a graph where it is: the modes as compositions of stores. Embedded: graph and features are
// mapped here. Partitioned: both are behind servers. Hybrid: the topology is mapped here, features
// are behind servers. With servers, parts that are here as files may be mapped instead of asked
// for. Without, one part may be opened alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "client/remote_options.h"
#include "client/stores.h"
#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/graph/partition.h"
#include "common/sampling/kernel/sampler_plan.h"

namespace halograph {

struct StoreOptions {
  // Exactly one of the two: a partition folder, or servers, with what bounds the calls to them.
  // (remote.needs_topology is ignored: it follows from where the topology is.)
  std::string graph = {};
  RemoteOptions remote = {};

  // With servers only. Where the topology is: with them (kTopologyServers, or empty), fetched from
  // them into `cache_dir` (kTopologyLocal), or in a partition folder.
  std::string topology = {};
  std::string cache_dir = {};  // with kTopologyLocal only, and needed then
  std::string local = {};      // partition folder whose parts are mapped; or empty

  VerifyLevel verify = VerifyLevel::kContents;  // of all that is mapped
  // Threads that work on one call besides the caller, of what is mapped whole (embedded mode).
  int threads = 0;
  // As MapOptions, where the topology is mapped here (embedded, hybrid): in place of `threads`.
  SamplerThreads sampling = {.threads = 0};

  // With a partition folder only: this part of it and its halo are all that is opened
  // (client/part_alone); none: the whole graph.
  std::optional<int> part_alone = {};

  // With a partition folder only: where mutable tensors are kept (OpenLocalState); an empty folder:
  // there are none. Servers keep their own.
  StateOptions state = {};

  int world_size = 1;  // of the run that remote.rank is a rank of

  // Topology mapped here, features behind servers.
  [[nodiscard]] bool hybrid() const { return !topology.empty() && topology != kTopologyServers; }
  // InvalidArgument naming the options (as --servers) that contradict each other or are missing.
  [[nodiscard]] Status Validate() const;
};

// `cancel`, if not null, ends what takes long: waiting for servers and fetching the topology.
// Errors as StoreOptions::Validate, OpenPartAlone, OpenLocalState, OpenRemoteStores, FetchTopology
// and MapGraph, with the option in front where several read folders; FailedPrecondition naming both
// identities if a folder is not of the servers' graph; Unimplemented: servers, in a build without
// HALOGRAPH_REMOTE.
[[nodiscard]] StatusOr<Stores> OpenStores(const StoreOptions& options,
                                          const CancelToken* cancel = nullptr);

// The part of OpenStores that has servers: one of two sources, by build.
[[nodiscard]] StatusOr<Stores> OpenServedStores(const StoreOptions& options,
                                                const CancelToken* cancel);

}  // namespace halograph
