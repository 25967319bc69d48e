#include "client/ctl/why_command.h"

#include <chrono>
#include <utility>

#include "client/ctl/two_looks.h"
#include "client/ctl/why/readings.h"
#include "client/ctl/why/verdict.h"

namespace halograph::ctl {

struct WhyOptions : LookOptions {};

namespace {

Status Why(const WhyOptions& told) {
  HG_RETURN_IF_ERROR(told.remote.Validate());
  WhyOptions options = told;
  HG_RETURN_IF_ERROR(
      options.remote.FindServers(std::chrono::steady_clock::now() + options.remote.timeout));
  HG_ASSIGN_OR_RETURN(auto looks, LookTwice(options));
  auto& [before, after] = looks;
  const Evidence evidence = ToEvidence(std::move(before.servers), std::move(after.servers),
                                       std::move(before.trainers), std::move(after.trainers));
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
  options->seconds = std::chrono::seconds(5);
  AddLookRows(command,
              {.servers = "addresses of the servers, as trainers have them",
               .seconds = "time between the two readings",
               .least = std::chrono::milliseconds(100)},
              options.get());
  command.Run([options = options.get()] { return Why(*options); });
  command.PrintsItsWork();
  return options;
}

}  // namespace halograph::ctl
