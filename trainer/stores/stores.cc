#include "trainer/stores/stores.h"

#include <utility>

#include "client/local/local_store.h"
#ifdef HALOGRAPH_REMOTE
#include "client/own_part/own_part_store.h"
#include "client/own_part/parts_present.h"
#include "client/own_part/same_graph.h"
#include "client/remote/remote_store.h"
#include "client/remote/rpc.h"
#include "client/remote/topology_fetch.h"
#include "common/base/log.h"
#include "trainer/pipeline/seed_split.h"
#endif

namespace halograph {
namespace {

#ifdef HALOGRAPH_REMOTE
// Fetching may take long: a signal ends it.
StatusOr<std::filesystem::path> Fetch(const TrainOptions& options, const RemoteOptions& remote,
                                      StopSignal* stop) {
  CallScope scope;
  if (stop != nullptr) stop->OnStop([&scope] { scope.Cancel(); });
  auto folder = FetchTopology(remote, options.cache_dir, options.verify, &scope);
  if (stop != nullptr) stop->OnStop(nullptr);
  return folder;
}

// Hybrid mode: the topology of all parts.
StatusOr<std::shared_ptr<const MappedGraph>> MapTopology(const TrainOptions& options,
                                                         const RemoteOptions& remote,
                                                         StopSignal* stop) {
  MapOptions map{.verify = options.verify, .contents = {.features = false}};
  if (options.topology != kTopologyLocal) return MapGraph(options.topology, map);
  HG_ASSIGN_OR_RETURN(const std::filesystem::path folder, Fetch(options, remote, stop));
  map.verify = VerifyLevel::kHeaders;  // the contents are what was fetched and checked
  return MapGraph(folder, map);
}

StatusOr<std::shared_ptr<const MappedGraph>> MapOwnParts(const TrainOptions& options) {
  HG_ASSIGN_OR_RETURN(std::vector<int> parts, PartsPresent(options.local));
  HG_ASSIGN_OR_RETURN(auto own,
                      MapGraph(options.local, {.parts = std::move(parts),
                                               .verify = options.verify,
                                               .contents = {.topology = !options.hybrid()}}));
  const int part = PartOfRank(options.rank, own->info.book.num_parts(), options.world_size);
  if (own->parts->Find(part) == nullptr) {
    spdlog::warn(
        "--local {}: rank {} belongs to partition {}, which is not there: its minibatches "
        "come from servers for the most part",
        options.local, options.rank, part);
  }
  return own;
}

// What was mapped for `option`, if it is of the graph that the servers have.
StatusOr<std::shared_ptr<const MappedGraph>> OfGraph(
    const GraphInfo& served, const std::string& option,
    StatusOr<std::shared_ptr<const MappedGraph>> mapped) {
  if (!mapped.ok()) return Annotate(mapped.status(), option);
  HG_RETURN_IF_ERROR(CheckSameGraph((*mapped)->info, option, served, "the servers"));
  return mapped;
}

StatusOr<Stores> OpenServers(const TrainOptions& options, StopSignal* stop) {
  RemoteOptions remote;
  remote.servers = options.servers;
  remote.timeout = options.timeout;
  remote.rank = options.rank;
  remote.needs_topology = !options.hybrid();
  HG_ASSIGN_OR_RETURN(RemoteStores servers, OpenRemoteStores(remote));
  const GraphInfo served = servers.kv->info();
  std::shared_ptr<const MappedGraph> own;
  if (!options.local.empty()) {
    HG_ASSIGN_OR_RETURN(own, OfGraph(served, "--local " + options.local, MapOwnParts(options)));
  }
  Stores stores;
  if (options.hybrid()) {
    HG_ASSIGN_OR_RETURN(auto topology, OfGraph(served, "--topology " + options.topology,
                                               MapTopology(options, remote, stop)));
    stores.graph = MakeLocalGraphStore(std::move(topology));
  } else if (own != nullptr) {
    stores.graph = MakeOwnPartGraphStore(own, std::move(servers.graph));
  } else {
    stores.graph = std::move(servers.graph);
  }
  if (own != nullptr) {
    stores.kv = MakeOwnPartKVStore(own, std::move(servers.kv));
  } else {
    stores.kv = std::move(servers.kv);
  }
  return stores;
}
#else
StatusOr<Stores> OpenServers(const TrainOptions&, StopSignal*) {
  return Unimplemented(
      "--servers: this build has no remote stores (configured with HALOGRAPH_REMOTE=OFF), so that "
      "neither --topology nor --local has servers to work with; give --graph DIR, or use a build "
      "with gRPC");
}
#endif

}  // namespace

void Stores::Shutdown() const {
  if (graph != nullptr) graph->Shutdown();
  if (kv != nullptr) kv->Shutdown();
}

StatusOr<Stores> OpenStores(const TrainOptions& options, StopSignal* stop) {
  if (!options.servers.empty()) return OpenServers(options, stop);
  // Minibatches are prepared side by side, each by one thread.
  HG_ASSIGN_OR_RETURN(LocalStores stores, OpenLocalStores(options.graph, options.verify, 0));
  return Stores{std::move(stores.graph), std::move(stores.kv)};
}

}  // namespace halograph
