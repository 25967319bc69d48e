#include <utility>

#include "client/own_part/own_part_store.h"
#include "client/topology_copy/fetch_topology.h"
#include "tests/conformance/kinds.h"
#include "tests/conformance/started_servers.h"
#include "tests/support/test_folder.h"

namespace halograph {

namespace {

// Some parts mapped, the rest asked of the servers.
StoreKind OwnPartKind(const ServedSetup& setup, const std::vector<int>& parts) {
  return {setup.name, [=](const std::filesystem::path& graph) -> StatusOr<OpenedStores> {
            HG_ASSIGN_OR_RETURN(StartedServers started, StartServers(setup, graph));
            HG_ASSIGN_OR_RETURN(Stores stores, OpenRemoteStores(started.options));
            HG_ASSIGN_OR_RETURN(const auto own, MapGraph(graph, {.parts = parts}));
            stores.graph = MakeOwnPartGraphStore(own, std::move(stores.graph));
            stores.rows = MakeOwnPartRowStore(own, std::move(stores.rows));
            return OpenedStores{std::move(started.servers), std::move(stores)};
          }};
}

// The topology mapped from `folder`, features behind the servers.
StatusOr<OpenedStores> OpenHybrid(StartedServers started, const std::filesystem::path& folder) {
  started.options.needs_topology = false;
  HG_ASSIGN_OR_RETURN(Stores stores, OpenRemoteStores(started.options));
  HG_ASSIGN_OR_RETURN(auto topology, MapGraph(folder, {.contents = {.features = false}}));
  stores.graph = MakeLocalGraphStore(std::move(topology));
  return OpenedStores{std::move(started.servers), std::move(stores)};
}

StoreKind HybridKind(const ServedSetup& setup) {
  return {setup.name, [=](const std::filesystem::path& graph) -> StatusOr<OpenedStores> {
            HG_ASSIGN_OR_RETURN(StartedServers started, StartServers(setup, graph));
            return OpenHybrid(std::move(started), graph);
          }};
}

StoreKind FetchedKind(const ServedSetup& setup) {
  return {setup.name, [=](const std::filesystem::path& graph) -> StatusOr<OpenedStores> {
            HG_ASSIGN_OR_RETURN(StartedServers started, StartServers(setup, graph));
            const TestFolder cache;  // what is mapped stays mapped
            HG_ASSIGN_OR_RETURN(const std::filesystem::path folder,
                                FetchTopology(started.options, cache.path()));
            return OpenHybrid(std::move(started), folder);
          }};
}

}  // namespace

std::vector<StoreKind> StoreKinds() {
  return {
      OwnPartKind({.name = "OwnPart1Of4", .servers = 4}, {2}),
      OwnPartKind({.name = "OwnPart2Of4", .servers = 2, .threads = 4}, {0, 2}),
      OwnPartKind({.name = "OwnPart2Of4SmallMessages", .servers = 2, .server_message_bytes = 65536},
                  {1, 2}),
      OwnPartKind({.name = "OwnPart1Of4OneServer", .client_message_bytes = 16384}, {0}),
      HybridKind({.name = "HybridFromFolder",
                  .servers = 2,
                  .contents = {.topology = false, .features = true}}),
      FetchedKind({.name = "HybridFetched", .servers = 2, .replicas = 2}),
  };
}

std::vector<StoreKind> MutableStoreKinds() {
  return {OwnPartKind({.name = "OwnPartOfServers", .servers = 2, .state = true}, {0})};
}

}  // namespace halograph
