// halograph-ctl: what an operator asks the servers.
#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "client/ctl/doctor_command.h"
#include "client/ctl/state_command.h"
#include "client/ctl/status_table.h"
#include "client/ctl/why_command.h"
#include "client/remote_options.h"
#include "common/program/program.h"

namespace halograph {
namespace {

constexpr char kProgram[] = "halograph-ctl";

struct StatusOptions {
  RemoteOptions remote;
  bool json = false;
  std::chrono::nanoseconds watch{0};
};

Status PrintStatus(const StatusOptions& options) {
  const std::vector<ServerStatus> servers = AskStatus(options.remote);
  const bool clears = options.watch.count() > 0 && !options.json && isatty(STDOUT_FILENO) == 1;
  if (clears) std::fputs("\x1b[H\x1b[2J", stdout);
  PrintText(options.json ? PrintableJson(ToJson(servers))
                         : FormatTable(servers) + FormatParts(servers) + FormatLeftOut(servers));
  static_cast<void>(FlushStdout());  // now, and Main says where it failed
  const std::vector<std::string> problems = Problems(servers);
  for (const std::string& problem : problems) PrintError(kProgram, problem);
  const auto down = std::count_if(servers.begin(), servers.end(), [](const ServerStatus& server) {
    return !server.reachable.ok();
  });
  if (down > 0) {
    const bool all_served =
        std::any_of(servers.begin(), servers.end(),
                    [](const ServerStatus& server) { return server.num_parts > 0; }) &&
        problems.size() == static_cast<size_t>(down);
    return Unavailable("servers that are down: {} of {}{}", down, servers.size(),
                       all_served ? "; those that answer serve every part" : "");
  }
  return problems.empty() ? OkStatus() : Unavailable("there are problems: they are listed above");
}

// Until it is stopped, with --watch.
Status ShowStatus(const StatusOptions& options) {
  if (options.watch.count() == 0) return PrintStatus(options);
  for (;;) {
    // What is wrong was printed, and may be right the next time.
    static_cast<void>(PrintStatus(options));
    if (!FlushStdout().ok()) return OkStatus();  // nobody sees the next one either: Main says why
    std::this_thread::sleep_for(options.watch);
  }
}

int Main(int argc, char** argv) {
  Program program(kProgram, "Asks partition servers.", "error");
  Command& status = program.command().Add(
      "status",
      "Prints a table of the servers: whether they answer, what they serve, "
      "uptime, clients, calls; of the last minute calls a second, latency and "
      "bytes; and, where several servers serve a part, which do. Exits with 1, "
      "naming it, if a server is down or a part of the graph is not served.");
  StatusOptions options;
  options.remote.timeout = std::chrono::seconds(5);
  options.remote.channels_per_server = 1;
  AddServersRow(status.options(), &options.remote, "addresses of the servers").Required();
  status.options().Add("json", &options.json, "print JSON instead of a table");
  status.options()
      .Add("watch", &options.watch, "print again every so often, until stopped; 0s: once")
      .Range(std::chrono::seconds(0), std::chrono::hours(1));
  status.options().Group("Calls");
  AddCallRows(status.options(), &options.remote, "how long to wait for an answer");
  status.Run([&]() -> Status {
    HG_RETURN_IF_ERROR(options.remote.OpenTls());
    return ShowStatus(options);
  });
  status.PrintsItsWork();
  const auto why = ctl::AddWhyCommand(program);
  const auto doctor = ctl::AddDoctorCommand(program);
  const auto state = AddStateCommands(program);
  return program.Main(argc, argv);
}

}  // namespace
}  // namespace halograph

int main(int argc, char** argv) { return halograph::Main(argc, argv); }
