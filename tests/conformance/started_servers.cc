#include "tests/conformance/started_servers.h"

#include <vector>

#include "server/server.h"

namespace halograph {

namespace {

constexpr int kParts = 4;  // of the graphs of the suites

}  // namespace

StatusOr<StartedServers> StartServers(const ServedSetup& setup,
                                      const std::filesystem::path& graph) {
  auto servers = std::make_shared<std::vector<std::unique_ptr<server::Server>>>();
  RemoteOptions remote;
  remote.max_message_bytes = setup.client_message_bytes;
  remote.needs_topology = setup.contents.topology;
  for (int i = setup.servers - 1; i >= 0; --i) {
    server::ServerOptions options;
    options.graph = graph;
    options.threads = setup.threads;
    options.max_message_bytes = setup.server_message_bytes;
    options.contents = setup.contents;
    for (int part = i; part < kParts; part += setup.servers) options.parts.push_back(part);
    HG_ASSIGN_OR_RETURN(servers->emplace_back(), server::Server::Start(options));
    remote.servers.push_back(servers->back()->address());
  }
  return StartedServers{std::move(servers), std::move(remote)};
}

}  // namespace halograph
