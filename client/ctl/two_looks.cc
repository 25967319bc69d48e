#include "client/ctl/two_looks.h"

#include <future>
#include <string>
#include <thread>

#include "client/ctl/ask_stats.h"

namespace halograph::ctl {
namespace {

StatusOr<Look> LookOnce(const LookOptions& options, StatsAsker& servers) {
  auto asked = std::async(std::launch::async,
                          [&] { return AskTrainers(options.trainers, options.remote.timeout); });
  Look look;
  look.servers = servers.Ask();
  HG_ASSIGN_OR_RETURN(look.trainers, asked.get());
  return look;
}

}  // namespace

void AddLookRows(Command& command, const LookHelp& help, LookOptions* options) {
  options->remote.timeout = std::chrono::seconds(5);
  options->remote.channels_per_server = 1;
  AddServersRow(command.options(), &options->remote, std::string(help.servers)).Required();
  AddTrainerRows(command.options(), &options->trainers);
  command.options()
      .Add("seconds", &options->seconds, std::string(help.seconds))
      .Range(help.least, std::chrono::hours(1));
  command.options().Add("json", &options->json, "print JSON instead of text");
  command.options().Group("Calls");
  AddCallRows(command.options(), &options->remote, "how long to wait for an answer");
}

StatusOr<std::pair<Look, Look>> LookTwice(const LookOptions& options) {
  RemoteOptions remote = options.remote;
  HG_RETURN_IF_ERROR(remote.OpenTls());
  StatsAsker servers(remote);
  HG_ASSIGN_OR_RETURN(Look first, LookOnce(options, servers));
  std::this_thread::sleep_for(options.seconds);
  HG_ASSIGN_OR_RETURN(Look second, LookOnce(options, servers));
  return std::pair(std::move(first), std::move(second));
}

}  // namespace halograph::ctl
