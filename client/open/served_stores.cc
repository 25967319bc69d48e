// What OpenStores composes over servers.
#include <filesystem>
#include <utility>

#include "client/local/mapped_graph.h"
#include "client/open/open_stores.h"
#include "client/own_part/own_part_store.h"
#include "client/own_part/own_parts.h"
#include "client/remote/remote_store.h"
#include "client/topology_copy/fetch_topology.h"
#include "common/base/log.h"

namespace halograph {
namespace {

using Mapped = StatusOr<std::shared_ptr<const MappedGraph>>;

RemoteOptions ToRemoteOptions(const StoreOptions& options) {
  RemoteOptions remote = options.remote;
  remote.needs_topology = !options.hybrid();
  return remote;
}

// Hybrid mode: the topology of all parts.
Mapped MapTopology(const StoreOptions& options, const CancelToken* cancel) {
  MapOptions map{
      .verify = options.verify, .sampling = options.sampling, .contents = {.features = false}};
  if (options.topology != kTopologyLocal) return MapGraph(options.topology, map);
  HG_ASSIGN_OR_RETURN(
      const std::filesystem::path folder,
      FetchTopology(ToRemoteOptions(options), options.cache_dir, options.verify, cancel));
  map.verify = VerifyLevel::kHeaders;  // the contents are what was fetched and checked
  return MapGraph(folder, map);
}

Mapped MapOwnParts(const StoreOptions& options) {
  HG_ASSIGN_OR_RETURN(std::vector<int> parts, PartsPresent(options.local));
  HG_ASSIGN_OR_RETURN(auto own,
                      MapGraph(options.local, {.parts = std::move(parts),
                                               .verify = options.verify,
                                               .contents = {.topology = !options.hybrid()}}));
  const int rank = options.remote.rank;
  if (rank < 0) return own;
  const int part = PartOfRank(rank, own->info.book.num_parts(), options.world_size);
  if (own->parts->Find(part) == nullptr) {
    spdlog::warn(
        "--local {}: rank {} belongs to partition {}, which is not in that folder: most of its "
        "data will come from servers",
        options.local, rank, part);
  }
  return own;
}

// What was mapped for `option`, if it is of the graph that the servers have.
Mapped OfGraph(const GraphInfo& served, const std::string& option, Mapped mapped) {
  if (!mapped.ok()) return Annotate(mapped.status(), option);
  HG_RETURN_IF_ERROR(CheckSameGraph((*mapped)->info, option, served, "the servers"));
  return mapped;
}

}  // namespace

StatusOr<Stores> OpenServedStores(const StoreOptions& options, const CancelToken* cancel) {
  HG_ASSIGN_OR_RETURN(Stores stores, OpenRemoteStores(ToRemoteOptions(options), cancel));
  const std::shared_ptr<GraphStore> servers = stores.graph;
  const GraphInfo& served = servers->info();
  std::shared_ptr<const MappedGraph> own;
  if (!options.local.empty()) {
    HG_ASSIGN_OR_RETURN(own, OfGraph(served, "--local " + options.local, MapOwnParts(options)));
  }
  if (options.hybrid()) {
    HG_ASSIGN_OR_RETURN(auto topology, OfGraph(served, "--topology " + options.topology,
                                               MapTopology(options, cancel)));
    stores.graph = MakeLocalGraphStore(std::move(topology));
  } else if (own != nullptr) {
    stores.graph = MakeOwnPartGraphStore(own, std::move(stores.graph));
  }
  if (own != nullptr) stores.rows = MakeOwnPartRowStore(own, std::move(stores.rows));
  return stores;
}

}  // namespace halograph
