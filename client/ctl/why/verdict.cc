#include "client/ctl/why/verdict.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/ranges.h>

#include "common/base/printable.h"

namespace halograph::ctl {
namespace {

// Shares of a step: what is worth an operator's time before computing, and at all.
constexpr double kWorthFirst = 0.2;
constexpr double kWorthNaming = 0.03;
constexpr char kIsComputing[] = "computing";

// "computing" counts as work: waits that are worth it come first, and the rest behind.
int Order(const Finding& finding) {
  if (finding.cause == kIsComputing) return 1;
  return finding.share >= kWorthFirst ? 0 : 2;
}

std::string Summary(const Picture& picture) {
  const RankPicture* const rank = picture.Slowest();
  if (rank == nullptr) {
    double calls = 0;
    for (const ServerPicture& server : picture.servers) calls += server.calls;
    return fmt::format("{} of looking, {} server{}, {:.0f} calls for minibatches",
                       ShortSeconds(picture.seconds), picture.servers.size(),
                       picture.servers.size() == 1 ? "" : "s", calls);
  }
  std::string text = rank->steps > 0 ? fmt::format("{:.0f} steps of {} by {}", rank->steps,
                                                   ShortSeconds(rank->step_seconds), rank->name)
                                     : fmt::format("no step of {} ended in {}", rank->name,
                                                   ShortSeconds(rank->step_seconds));
  text += fmt::format(": computing {}, waiting for minibatches {}", Percent(rank->computing),
                      Percent(rank->waiting));
  if (rank->world_size > 1 || picture.ranks.size() > 1) {
    text += fmt::format(", for other ranks {}", Percent(rank->meeting));
  }
  if (rank->pushing > 0.005) text += fmt::format(", for pushes {}", Percent(rank->pushing));
  return text;
}

// The figures that were asked for in vain, by who does not have them.
void AddMissing(const std::string& who, const MetricChange& metrics,
                std::map<std::string, std::vector<std::string>>* lacking) {
  // Of parts that not every program has.
  constexpr std::string_view kState = "halograph_state_";
  std::vector<std::string> names;
  for (const std::string& name : metrics.missing()) {
    if (!name.starts_with(kState)) names.push_back(name);
  }
  if (!names.empty()) (*lacking)[fmt::format("{}", fmt::join(names, ", "))].push_back(who);
}

std::vector<std::string> Unknown(const Evidence& evidence, const Picture& picture) {
  std::vector<std::string> unknown;
  std::map<std::string, std::vector<std::string>> lacking;
  for (const ServerEvidence& server : evidence.servers) {
    if (!server.error.empty()) {
      unknown.push_back(fmt::format("server {} did not answer: {}", server.address, server.error));
    } else if (server.restarted) {
      unknown.push_back(
          fmt::format("server {} was restarted meanwhile: look again", server.address));
    } else if (server.without_metrics) {
      unknown.push_back(fmt::format(
          "server {} tells no metrics (an older version): only its calls and its log's syncs are "
          "known, not its queue, its memory, its bytes nor its processors",
          server.address));
    } else if (!server.left_out.empty()) {
      unknown.push_back(
          fmt::format("server {} had no room in its answer for: {}; give it and ctl a larger "
                      "--max-message-bytes",
                      server.address, fmt::join(server.left_out, ", ")));
    } else {
      AddMissing("server " + server.address, server.metrics, &lacking);
    }
  }
  for (const TrainerEvidence& trainer : evidence.trainers) {
    if (!trainer.error.empty()) {
      unknown.push_back(
          fmt::format("trainer {} did not answer: {}", trainer.address, trainer.error));
    } else if (trainer.restarted) {
      unknown.push_back(
          fmt::format("trainer {} was restarted meanwhile: look again", trainer.address));
    } else {
      if (!trainer.phase.empty() && trainer.phase != "training") {
        unknown.push_back(
            fmt::format("trainer {} is {}, not training: this is not of its steps only",
                        trainer.address, trainer.phase));
      }
      AddMissing("trainer " + trainer.address, trainer.metrics, &lacking);
    }
  }
  for (const auto& [names, who] : lacking) {
    unknown.push_back(fmt::format("{} {} not tell {}", fmt::join(who, ", "),
                                  who.size() == 1 ? "does" : "do", names));
  }
  for (const ServerPicture& server : picture.servers) {
    if (server.evidence != nullptr) continue;
    unknown.push_back(fmt::format(
        "trainers call {}, which was not asked: name it in --servers, as the trainers do",
        server.address));
  }
  if (evidence.trainers.empty()) {
    unknown.push_back(
        "what a step waits for: no trainer was asked. With --trainer HOST:PORT (its --http-listen) "
        "stages, ranks and what calls take on their way are weighed too");
  }
  return unknown;
}

}  // namespace

Verdict Explain(const Evidence& evidence) {
  const Picture picture = Draw(evidence);
  Verdict verdict{.answered = !picture.ranks.empty() ||
                              std::any_of(picture.servers.begin(), picture.servers.end(),
                                          [](const ServerPicture& server) {
                                            return server.evidence != nullptr;
                                          })};
  if (verdict.answered) verdict.summary = Summary(picture);
  for (const Cause& cause : Causes()) {
    std::optional<Finding> finding = cause.find(picture);
    if (!finding || finding->share < kWorthNaming) continue;
    if (finding->cause.empty()) finding->cause = cause.name;
    if (const RankPicture* const rank = picture.Slowest()) {
      finding->step_seconds = finding->share * rank->step_seconds;
    }
    verdict.findings.push_back(*std::move(finding));
  }
  std::stable_sort(verdict.findings.begin(), verdict.findings.end(),
                   [](const Finding& one, const Finding& other) {
                     if (Order(one) != Order(other)) return Order(one) < Order(other);
                     return one.weight.value_or(one.share) > other.weight.value_or(other.share);
                   });
  verdict.unknown = Unknown(evidence, picture);
  return verdict;
}

std::string FormatVerdict(const Verdict& verdict) {
  std::string text;
  if (!verdict.summary.empty()) text += verdict.summary + "\n";
  if (verdict.answered && verdict.findings.empty()) {
    text += "\nNothing that is told is slow.\n";
  }
  int number = 0;
  for (const Finding& finding : verdict.findings) {
    const std::string cost = finding.step_seconds
                                 ? fmt::format("{} of a step, {}", Percent(finding.share),
                                               ShortSeconds(*finding.step_seconds))
                                 : fmt::format("{} of the time of calls", Percent(finding.share));
    text += fmt::format("\n{}. {} ({})\n", ++number, finding.what, cost);
    for (const std::string& line : finding.evidence) text += fmt::format("   - {}\n", line);
    text += fmt::format("   To do: {}.\n", finding.advice);
  }
  if (!verdict.unknown.empty()) text += "\nNot known:\n";
  for (const std::string& line : verdict.unknown) text += fmt::format("   - {}\n", line);
  return PrintableLines(text);
}

Json ToJson(const Verdict& verdict) {
  Json findings = Json::array();
  for (const Finding& finding : verdict.findings) {
    findings.push_back(
        {{"cause", finding.cause},
         {"culprit", finding.culprit},
         {"share", finding.share},
         {"step_seconds", finding.step_seconds ? Json(*finding.step_seconds) : Json()},
         {"what", finding.what},
         {"evidence", finding.evidence},
         {"advice", finding.advice}});
  }
  return {{"summary", verdict.summary},
          {"findings", std::move(findings)},
          {"unknown", verdict.unknown}};
}

}  // namespace halograph::ctl
