#include "client/ctl/why_command.h"

#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "client/ctl/ask_stats.h"
#include "client/ctl/trainer_ports.h"
#include "client/ctl/why/readings.h"
#include "client/ctl/why/verdict.h"
#include "client/remote_options.h"

namespace halograph::ctl {

struct WhyOptions {
  RemoteOptions remote;
  TrainerPorts trainers;
  std::chrono::nanoseconds seconds = std::chrono::seconds(5);
  bool json = false;
};

namespace {

Status Why(const WhyOptions& options) {
  HG_RETURN_IF_ERROR(options.remote.Validate());
  StatsAsker servers(options.remote);
  const auto ask =
      [&]() -> StatusOr<std::pair<std::vector<ServerReading>, std::vector<TrainerReading>>> {
    auto asked = std::async(std::launch::async,
                            [&] { return AskTrainers(options.trainers, options.remote.timeout); });
    std::vector<ServerReading> told = servers.Ask();
    HG_ASSIGN_OR_RETURN(std::vector<TrainerReading> trainers, asked.get());
    return std::pair(std::move(told), std::move(trainers));
  };
  HG_ASSIGN_OR_RETURN(auto before, ask());
  std::this_thread::sleep_for(options.seconds);
  HG_ASSIGN_OR_RETURN(auto after, ask());
  const Evidence evidence = ToEvidence(std::move(before.first), std::move(after.first),
                                       std::move(before.second), std::move(after.second));
  const Verdict verdict = Explain(evidence);
  PrintText(options.json ? PrintableJson(ToJson(verdict)) : FormatVerdict(verdict));
  if (verdict.answered) return OkStatus();
  return Unavailable(
      "nobody answered both times: is the job running, and are these its addresses?");
}

}  // namespace

std::shared_ptr<WhyOptions> AddWhyCommand(Program& program) {
  auto options = std::make_shared<WhyOptions>();
  Command& command = program.command().Add(
      "why",
      "Says why a step is slow: which stage, which server or rank, and what would help. Reads what "
      "servers and trainers count, twice, and weighs what changed. Causes are in the order of what "
      "they cost a step. Exits with 1 if nobody answered.");
  options->remote.timeout = std::chrono::seconds(5);
  options->remote.channels_per_server = 1;
  AddServersRow(command.options(), &options->remote,
                "addresses of the servers, as trainers have them")
      .Required();
  AddTrainerRows(command.options(), &options->trainers);
  command.options()
      .Add("seconds", &options->seconds, "time between the two readings")
      .Range(std::chrono::milliseconds(100), std::chrono::hours(1));
  command.options().Add("json", &options->json, "print JSON instead of text");
  command.options().Group("Calls");
  AddCallRows(command.options(), &options->remote, "how long to wait for an answer");
  command.Run([options = options.get()] { return Why(*options); });
  command.PrintsItsWork();
  return options;
}

}  // namespace halograph::ctl
