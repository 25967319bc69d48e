// Opens a graph where it is: the modes as compositions of stores. Embedded: graph and features are
// mapped here. Partitioned: both are behind servers. Hybrid: the topology is mapped here, features
// are behind servers. With servers, parts that are here as files may be mapped instead of asked
// for.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/graph_store.h"
#include "client/kv_store.h"
#include "common/base/cancel.h"
#include "common/base/status.h"
#include "common/graph/partition.h"
#include "common/sampling/sampler_plan.h"

namespace halograph {

// Values of StoreOptions::topology that are no folders.
inline constexpr std::string_view kTopologyServers = "servers";
inline constexpr std::string_view kTopologyLocal = "local";

struct StoreOptions {
  // Exactly one of the two: a partition folder, or HOST:PORT of each server.
  std::string graph = {};
  std::vector<std::string> servers = {};

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

  // Of the calls to servers.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
  int64_t max_message_bytes = 4194304;
  int calls_in_flight = 4;
  int channels_per_server = 2;
  // The caller's, in logs; below 0: none.
  int rank = -1;
  int world_size = 1;

  // Topology mapped here, features behind servers.
  [[nodiscard]] bool hybrid() const { return !topology.empty() && topology != kTopologyServers; }
  // InvalidArgument naming the options (as --servers) that contradict each other or are missing.
  [[nodiscard]] Status Validate() const;
};

struct Stores {
  std::unique_ptr<GraphStore> graph;
  std::unique_ptr<KVStore> kv;
};

// `cancel`, if not null, ends what takes long: waiting for servers and fetching the topology.
// Errors as StoreOptions::Validate, OpenLocalStores, OpenRemoteStores, FetchTopology and MapGraph,
// with the option in front where several read folders; FailedPrecondition naming both identities if
// a folder is not of the servers' graph; Unimplemented: servers, in a build without
// HALOGRAPH_REMOTE.
[[nodiscard]] StatusOr<Stores> OpenStores(const StoreOptions& options,
                                          const CancelToken* cancel = nullptr);

// The part of OpenStores that has servers: one of two sources, by build.
[[nodiscard]] StatusOr<Stores> OpenServedStores(const StoreOptions& options,
                                                const CancelToken* cancel);

}  // namespace halograph
