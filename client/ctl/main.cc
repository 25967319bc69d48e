// halograph-ctl: what an operator asks the servers.
#include <string>
#include <vector>

#include "client/ctl/status_table.h"
#include "client/remote_options.h"
#include "common/program/program.h"

namespace halograph {
namespace {

constexpr char kProgram[] = "halograph-ctl";

struct StatusOptions {
  RemoteOptions remote;
  bool json = false;
};

Status PrintStatus(const StatusOptions& options) {
  const std::vector<ServerStatus> servers = AskStatus(options.remote);
  fmt::print("{}", options.json
                       ? ToJson(servers).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                       : FormatTable(servers));
  size_t down = 0;
  for (const ServerStatus& server : servers) {
    if (server.reachable.ok()) continue;
    ++down;
    PrintError(kProgram, fmt::format("{} is down: {}", server.address, ToString(server.reachable)));
  }
  if (down == 0) return OkStatus();
  return Unavailable("servers that are down: {} of {}", down, servers.size());
}

int Main(int argc, char** argv) {
  Program program(kProgram, "Asks partition servers.", "error");
  Command& status =
      program.command().Add("status",
                            "Prints a table of the servers: reachable, what they serve, uptime, "
                            "calls, latency, bytes. Exits with 1, naming it, if one is down.");
  StatusOptions options;
  options.remote.timeout = std::chrono::seconds(5);
  options.remote.channels_per_server = 1;
  AddServersRow(status.options(), &options.remote, "addresses of the servers").Required();
  status.options().Add("json", &options.json, "print JSON instead of a table");
  status.options().Group("Calls");
  AddCallRows(status.options(), &options.remote, "how long to wait for an answer");
  status.Run([&] { return PrintStatus(options); });
  return program.Main(argc, argv);
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) { return halograph::Main(argc, argv); }
