#include "client/remote/remote_store.h"
#include "server/server.h"
#include "tests/conformance/kinds.h"

namespace halograph {

namespace {

struct RemoteSetup {
  std::string name;
  int servers = 1;
  int threads = 1;
  int64_t server_message_bytes = 4194304;
  int64_t client_message_bytes = 4194304;
};

constexpr int kParts = 4;  // of the graphs of the suites

using Servers = std::vector<std::unique_ptr<server::Server>>;

// Server i of n serves the parts i, i + n, ...: what it owns is not contiguous. Listed last to
// first: order must not matter.
StatusOr<OpenedStores> OpenRemote(const RemoteSetup& setup, const std::filesystem::path& graph) {
  auto servers = std::make_shared<Servers>();
  RemoteOptions remote;
  remote.max_message_bytes = setup.client_message_bytes;
  for (int i = setup.servers - 1; i >= 0; --i) {
    server::ServerOptions options;
    options.graph = graph;
    options.threads = setup.threads;
    options.max_message_bytes = setup.server_message_bytes;
    for (int part = i; part < kParts; part += setup.servers) options.parts.push_back(part);
    HG_ASSIGN_OR_RETURN(servers->emplace_back(), server::Server::Start(options));
    remote.servers.push_back(servers->back()->address());
  }
  HG_ASSIGN_OR_RETURN(RemoteStores stores, OpenRemoteStores(remote));
  return OpenedStores{std::move(servers), std::move(stores.graph), std::move(stores.kv)};
}

}  // namespace

std::vector<StoreKind> RemoteKinds() {
  const std::vector<RemoteSetup> setups = {
      {.name = "Remote1Server"},
      {.name = "Remote2Servers4Threads", .servers = 2, .threads = 4},
      {.name = "Remote4Servers", .servers = 4},
      {.name = "RemoteSmallMessages", .servers = 2, .threads = 4, .server_message_bytes = 65536},
      {.name = "RemoteSmallMessagesHere", .servers = 2, .client_message_bytes = 16384},
  };
  std::vector<StoreKind> kinds;
  for (const RemoteSetup& setup : setups) {
    kinds.push_back({setup.name, [setup](const std::filesystem::path& graph) {
                       return OpenRemote(setup, graph);
                     }});
  }
  return kinds;
}

}  // namespace halograph
