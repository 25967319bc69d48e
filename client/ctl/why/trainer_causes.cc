// Causes that lie with trainers.
#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "client/ctl/why/causes.h"
#include "common/base/units.h"

namespace halograph::ctl {
namespace {

constexpr char kRows[] = "halograph_trainer_pull_rows_total";
constexpr char kLate[] = "halograph_trainer_straggler_seconds";

std::string SplitOfStep(const RankPicture& rank) {
  std::string text =
      fmt::format("a step of {} takes {}: computing {}, waiting for its minibatch {}", rank.name,
                  ShortSeconds(rank.step_seconds), Percent(rank.computing), Percent(rank.waiting));
  if (rank.world_size > 1) text += fmt::format(", for other ranks {}", Percent(rank.meeting));
  return text;
}

std::string OfStages(const RankPicture& rank) {
  std::vector<std::string> stages;
  for (const StageShares& stage : rank.stages) {
    stages.push_back(fmt::format("{} {}", stage.name, Percent(stage.busy)));
  }
  return fmt::format("its stages are busy: {}", fmt::join(stages, ", "));
}

// Mean seconds of the calls of a rank, by target and method.
double CallsAgainst(const RankPicture& rank, const RankPicture& other) {
  constexpr char kCalls[] = "grpc_client_attempt_duration_seconds";
  double seconds = 0;
  double as_other = 0;
  for (const std::string& target : rank.evidence->metrics.ValuesOf(kCalls, "grpc_target")) {
    for (const std::string& method : rank.evidence->metrics.ValuesOf(kCalls, "grpc_method")) {
      const LabelValues labels = {
          {"grpc_target", target}, {"grpc_method", method}, {"grpc_status", "OK"}};
      const auto own = rank.evidence->metrics.Histogram(kCalls, labels);
      const auto others = other.evidence->metrics.Histogram(kCalls, labels);
      if (!own || !others || own->count == 0 || others->count == 0) continue;
      seconds += own->sum;
      as_other += others->Mean() * static_cast<double>(own->count);
    }
  }
  return as_other > 0 ? seconds / as_other : 1;
}

// What is long in the slowest rank, against the one that waits most for it.
void CompareRanks(const RankPicture& slowest, const RankPicture& other, Finding* finding) {
  const double computing = slowest.computing - other.computing;
  const double waiting = slowest.waiting - other.waiting;
  if (computing >= waiting) {
    finding->what += ": its computing is long";
    finding->advice =
        "look at what else runs on its machine (top), at --threads and at its device; a slower "
        "machine wants a smaller share of the seeds";
    return;
  }
  const StageShares* const busiest = slowest.Busiest();
  finding->what += ": its minibatches come late";
  if (busiest != nullptr) finding->evidence.push_back(OfStages(slowest));
  const double calls = CallsAgainst(slowest, other);
  if (calls > 1.5) {
    finding->evidence.push_back(
        fmt::format("its calls to the same servers take {:.1f} times as long as those of {}", calls,
                    other.name));
    finding->advice = "look at the network of its machine, and at what else runs there (top)";
    return;
  }
  finding->advice = fmt::format(
      "its {} is slow: look at what else runs on its machine (top), and at --sample-threads",
      busiest != nullptr ? "stage " + busiest->name : "preparing");
}

// By one rank alone: whom it waits for is told by the ranks' own ports.
std::optional<Finding> OthersUnknown(const RankPicture& rank) {
  if (rank.meeting < 0.1) return {};
  const MetricChange& metrics = rank.evidence->metrics;
  std::string worst;
  double late = 0;
  for (const std::string& other : metrics.ValuesOf(kLate, "rank")) {
    const double seconds = metrics.Gauge(kLate, {{"rank", other}}).value_or(0);
    if (seconds > late && other != std::to_string(rank.rank)) {
      late = seconds;
      worst = other;
    }
  }
  Finding finding{.culprit = worst.empty() ? "another rank" : "rank " + worst,
                  .share = rank.meeting};
  finding.what = fmt::format("{} waits for {} {} of the time", rank.name, finding.culprit,
                             Percent(rank.meeting));
  finding.evidence.push_back(SplitOfStep(rank));
  if (!worst.empty()) {
    finding.evidence.push_back(
        fmt::format("{} came {} later than the mean of the ranks to the meeting before the last",
                    finding.culprit, ShortSeconds(late)));
  }
  finding.advice = "name the ports of all ranks (--trainer), to see what is long in the slow one";
  return finding;
}

}  // namespace

std::optional<Finding> FindStraggler(const Picture& picture) {
  const RankPicture* const slowest = picture.Slowest();
  if (slowest == nullptr) return {};
  if (picture.ranks.size() == 1) {
    return slowest->world_size > 1 ? OthersUnknown(*slowest) : std::nullopt;
  }
  std::vector<double> waits;
  const RankPicture* most = nullptr;
  for (const RankPicture& rank : picture.ranks) {
    if (&rank == slowest) continue;
    waits.push_back(rank.meeting);
    if (most == nullptr || rank.meeting > most->meeting) most = &rank;
  }
  const double share = LowerMedian(waits) - slowest->meeting;
  if (share < 0.08) return {};
  Finding finding{.culprit = slowest->name, .share = share};
  finding.what = fmt::format("the other ranks wait for {}", slowest->name);
  finding.evidence.push_back(SplitOfStep(*slowest));
  finding.evidence.push_back(SplitOfStep(*most));
  const auto late =
      slowest->evidence->metrics.Gauge(kLate, {{"rank", std::to_string(slowest->rank)}});
  if (late && *late > 0) {
    finding.evidence.push_back(
        fmt::format("it came {} later than the mean of the ranks to the meeting before the last",
                    ShortSeconds(*late)));
  }
  CompareRanks(*slowest, *most, &finding);
  return finding;
}

std::optional<Finding> FindFewSampleThreads(const Picture& picture) {
  const RankPicture* const rank = picture.Slowest();
  if (rank == nullptr || rank->waiting < 0.05) return {};
  const StageShares* const busiest = rank->Busiest();
  if (busiest == nullptr || busiest->busy < 0.75 || !IsSampling(busiest->name)) return {};
  Finding finding{.culprit = rank->name,
                  .share = rank->waiting * 0.9 * (1 - CallsShare(*rank) * HeldUp(picture))};
  finding.what = fmt::format("{} has too few threads that sample", rank->name);
  finding.evidence = {SplitOfStep(*rank), OfStages(*rank)};
  const auto threads = rank->evidence->metrics.Gauge("halograph_trainer_sample_threads");
  if (threads) {
    finding.evidence.push_back(fmt::format("it has {:.0f} of them (--sample-threads)", *threads));
  }
  finding.advice =
      "give it more --sample-threads, or let it find its share by --tune; fewer --fanouts sample "
      "less";
  return finding;
}

std::optional<Finding> FindColdCache(const Picture& picture) {
  const RankPicture* const rank = picture.Slowest();
  if (rank == nullptr || rank->waiting < 0.05) return {};
  const MetricChange& metrics = rank->evidence->metrics;
  const auto remote = metrics.Counter(kRows, {{"source", "remote"}});
  const auto cached = metrics.Counter(kRows, {{"source", "cache"}});
  if (!remote || !cached || !metrics.ValuesOf(kRows, "source").contains("cache")) return {};
  const double asked = *remote + *cached;
  const double before = metrics.Earlier(kRows, {{"source", "remote"}}).value_or(0);
  const double cached_before = metrics.Earlier(kRows, {{"source", "cache"}}).value_or(0);
  if (asked <= 0 || cached_before + *cached <= 0) return {};  // there is no cache, or none of use
  const double share = *remote / asked;
  const double share_before = before + cached_before > 0 ? before / (before + cached_before) : 1;
  const StageShares* const busiest = rank->Busiest();
  if (busiest != nullptr && !IsFetching(busiest->name)) return {};
  if (share < 0.15 || share > share_before - 0.02) return {};
  Finding finding{.culprit = rank->name,
                  .share = rank->waiting * share * 0.9 * (1 - HeldUp(picture))};
  finding.what = fmt::format("the cache of {} is still cold: it warms up", rank->name);
  finding.evidence = {
      SplitOfStep(*rank),
      fmt::format("{} of the rows that are not here came from servers, {} before that",
                  Percent(share), Percent(share_before)),
      fmt::format("the cache had {} of {} rows", FormatCount(std::llround(*cached)),
                  FormatCount(std::llround(asked)))};
  if (busiest != nullptr) finding.evidence.push_back(OfStages(*rank));
  finding.advice = "wait: look again in an epoch. If it stays so, give it more --cache-memory";
  return finding;
}

std::optional<Finding> FindPreparing(const Picture& picture) {
  const RankPicture* const rank = picture.Slowest();
  if (rank == nullptr || rank->waiting < 0.05) return {};
  const StageShares* const busiest = rank->Busiest();
  // The least of what there is to say: a cause that is shown comes before it.
  Finding finding{.culprit = rank->name, .share = rank->waiting, .weight = rank->waiting * 0.2};
  finding.evidence = {SplitOfStep(*rank)};
  if (busiest == nullptr) {
    finding.what = fmt::format("{} waits for its minibatches", rank->name);
    finding.advice = "this trainer does not tell its stages: one of this version does";
    return finding;
  }
  finding.what =
      fmt::format("{} waits for its minibatches: stage {} bounds them", rank->name, busiest->name);
  finding.evidence.push_back(OfStages(*rank));
  const double seconds = std::max(rank->evidence->seconds, 1e-9);
  const auto remote =
      rank->evidence->metrics.Counter("halograph_trainer_pull_bytes_total", {{"source", "remote"}});
  const auto local =
      rank->evidence->metrics.Counter("halograph_trainer_pull_bytes_total", {{"source", "local"}});
  if (remote && local) {
    finding.evidence.push_back(fmt::format(
        "it pulls {}/s from servers and reads {}/s of its own files",
        FormatBytes(std::llround(*remote / seconds)), FormatBytes(std::llround(*local / seconds))));
  }
  finding.advice =
      IsFetching(busiest->name)
          ? "more --prefetch, --cache-memory or --sample-threads prepare more at a time"
          : "more --sample-threads or --prefetch prepare more at a time";
  return finding;
}

std::optional<Finding> FindComputing(const Picture& picture) {
  const RankPicture* const rank = picture.Slowest();
  if (rank == nullptr || rank->computing < 0.5) return {};
  Finding finding{.culprit = rank->name, .share = rank->computing};
  finding.what = "computing bounds the step: servers and network keep up";
  finding.evidence = {SplitOfStep(*rank)};
  if (!rank->stages.empty()) finding.evidence.push_back(OfStages(*rank));
  finding.advice =
      "nothing to mend: more --threads, a faster device or a smaller model make a step shorter, "
      "and "
      "more ranks make fewer of them";
  return finding;
}

}  // namespace halograph::ctl
