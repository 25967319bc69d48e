#include "tests/conformance/started_servers.h"

#include <algorithm>
#include <vector>

#include "common/graph/manifest.h"
#include "server/server.h"
#include "tests/support/test_folder.h"

namespace halograph {

namespace {

// Servers, and the folder of their state, which they need to the end.
struct Running {
  TestFolder state;
  std::vector<std::unique_ptr<server::Server>> servers;
};

int CountParts(const std::filesystem::path& graph) {
  int parts = 0;
  while (std::filesystem::exists(graph / PartFolderName(parts))) ++parts;
  return parts;
}

}  // namespace

StatusOr<StartedServers> StartServers(const ServedSetup& setup,
                                      const std::filesystem::path& graph) {
  auto running = std::make_shared<Running>();
  const int parts = CountParts(graph);
  RemoteOptions remote;
  remote.max_message_bytes = setup.client_message_bytes;
  remote.needs_topology = setup.contents.topology;
  // A graph may have fewer parts than there are servers.
  const int servers = std::min(setup.servers, parts);
  for (int i = servers * setup.replicas - 1; i >= 0; --i) {
    server::ServerOptions options;
    options.graph = graph;
    options.threads = setup.threads;
    options.max_message_bytes = setup.server_message_bytes;
    options.contents = setup.contents;
    for (int part = i % servers; part < parts; part += servers) options.parts.push_back(part);
    if (setup.state) options.state.folder = running->state.path() / "state";
    options.state.segment_bytes = 4 << 20;
    HG_ASSIGN_OR_RETURN(running->servers.emplace_back(), server::Server::Start(options));
    remote.servers.push_back(running->servers.back()->address());
  }
  return StartedServers{std::move(running), std::move(remote)};
}

}  // namespace halograph
