// halograph-ctl: what an operator asks the servers.
#include <chrono>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "client/ctl/status_table.h"
#include "client/remote/remote_options.h"
#include "common/base/build_info.h"
#include "common/base/log.h"
#include "common/base/units.h"

namespace halograph {

namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

struct StatusOptions {
  std::vector<std::string> servers;
  std::string timeout = "5s";
  bool json = false;
};

int UsageError(const Status& error) {
  fmt::print(stderr, "halograph-ctl: {}\n", Message(error));
  return kWrongUsage;
}

int RunStatus(const StatusOptions& options) {
  const StatusOr<std::chrono::nanoseconds> timeout = ParseDuration(options.timeout);
  if (!timeout.ok()) return UsageError(timeout.status());
  RemoteOptions remote;
  remote.servers = options.servers;
  remote.timeout = *timeout;
  if (const Status valid = remote.Validate(); !valid.ok()) return UsageError(valid);

  const std::vector<ServerStatus> servers = AskStatus(options.servers, *timeout);
  fmt::print("{}", options.json
                       ? ToJson(servers).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                       : FormatTable(servers));
  int code = kDone;
  for (const ServerStatus& server : servers) {
    if (server.reachable.ok()) continue;
    fmt::print(stderr, "halograph-ctl: {} is down: {}\n", server.address,
               ToString(server.reachable));
    code = kFailed;
  }
  return code;
}

int Main(int argc, char** argv) {
  CLI::App app("Asks partition servers.", "halograph-ctl");
  app.set_version_flag("--version", BuildVersion());
  app.require_subcommand(1);
  StatusOptions options;
  CLI::App* status = app.add_subcommand(
      "status",
      "A table of the servers: reachable, serving what, uptime, calls, latency, bytes.\n"
      "Exits 1 if any is down, naming it.");
  status->add_option("--servers", options.servers, "HOST:PORT of each server, separated by commas")
      ->required()
      ->delimiter(',');
  status->add_option("--timeout", options.timeout, "how long to wait for an answer: 500ms, 5s, 1m")
      ->capture_default_str();
  status->add_flag("--json", options.json, "print JSON instead of a table");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongUsage;
  }
  if (const Status log = InitLog("halograph-ctl", "error"); !log.ok()) return UsageError(log);
  return RunStatus(options);
}

}  // namespace

}  // namespace halograph

int main(int argc, char** argv) { return halograph::Main(argc, argv); }
