#include "client/remote/remote_store.h"
#include "tests/conformance/kinds.h"
#include "tests/conformance/started_servers.h"
#include "tests/conformance/toy_row_cache.h"

namespace halograph {

namespace {

StoreKind RemoteKind(const ServedSetup& setup) {
  return {setup.name, [setup](const std::filesystem::path& graph) -> StatusOr<OpenedStores> {
            HG_ASSIGN_OR_RETURN(StartedServers started, StartServers(setup, graph));
            HG_ASSIGN_OR_RETURN(Stores stores, OpenRemoteStores(started.options));
            return OpenedStores{std::move(started.servers), std::move(stores)};
          }};
}

}  // namespace

// 1, 2 and 4 servers of one and four threads, and messages so small that requests are split and
// replies cut.
std::vector<StoreKind> StoreKinds() {
  return {
      RemoteKind({.name = "Remote1Server"}),
      RemoteKind({.name = "Remote2Servers4Threads", .servers = 2, .threads = 4}),
      RemoteKind({.name = "Remote4Servers", .servers = 4}),
      RemoteKind({.name = "Remote2Servers2Replicas", .servers = 2, .replicas = 2, .threads = 2}),
      RemoteKind({.name = "RemoteSmallMessages",
                  .servers = 2,
                  .threads = 4,
                  .server_message_bytes = 65536}),
      RemoteKind({.name = "RemoteSmallMessagesHere", .servers = 2, .client_message_bytes = 16384}),
      ToyCacheOf(RemoteKind({.name = "Remote2Servers", .servers = 2})),
  };
}

std::vector<StoreKind> MutableStoreKinds() {
  return {
      RemoteKind({.name = "Remote1Server", .threads = 2, .state = true}),
      RemoteKind({.name = "Remote3Servers", .servers = 3, .state = true}),
      RemoteKind({.name = "RemoteSmallMessages",
                  .servers = 2,
                  .threads = 4,
                  .server_message_bytes = 65536,
                  .state = true}),
      RemoteKind({.name = "RemoteSmallMessagesHere",
                  .servers = 2,
                  .client_message_bytes = 16384,
                  .state = true}),
  };
}

}  // namespace halograph
