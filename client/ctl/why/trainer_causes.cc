// Causes that lie with trainers.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/ranges.h>

#include "client/ctl/why/causes.h"
#include "client/ctl/why/lacks.h"
#include "common/base/units.h"

namespace halograph::ctl {
namespace {

constexpr char kRows[] = "halograph_trainer_pull_rows_total";
constexpr char kFetched[] = "halograph_trainer_cache_fetched_rows_total";
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

// Of the rank's own series, where the process prints those of several.
double CountOf(const RankPicture& rank, const char* name, LabelValues labels) {
  labels.insert(rank.labels.begin(), rank.labels.end());
  return rank.evidence->metrics.Counter(name, labels).value_or(0);
}

// Mean seconds of the calls of a rank, by target and method.
double CallsAgainst(const RankPicture& rank, const RankPicture& other) {
  double seconds = 0;
  double as_other = 0;
  for (const std::string& target : rank.evidence->metrics.ValuesOf(kAttempts, "grpc_target")) {
    for (const std::string& method : rank.evidence->metrics.ValuesOf(kAttempts, "grpc_method")) {
      const LabelValues labels = {
          {"grpc_target", target}, {"grpc_method", method}, {"grpc_status", "OK"}};
      const auto own = rank.evidence->metrics.Histogram(kAttempts, labels);
      const auto others = other.evidence->metrics.Histogram(kAttempts, labels);
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

std::optional<Finding> FindTrainerProcessors(const Picture& picture) {
  const RankPicture* const rank = picture.Slowest();
  if (rank == nullptr || rank->waiting < 0.05) return {};
  const double lack = LackOfProcessors(*rank);
  if (lack == 0) return {};
  // Of the calls to the slowest server, the part in which threads here waited.
  const auto is_slower = [](const ServerPicture& one, const ServerPicture& other) {
    return std::pair(one.way_known, one.call_seconds) <
           std::pair(other.way_known, other.call_seconds);
  };
  const auto slowest = std::max_element(picture.servers.begin(), picture.servers.end(), is_slower);
  const bool called = slowest != picture.servers.end() && slowest->way_known;
  const double of_calls = called ? slowest->way_of_trainers / slowest->call_seconds : 0;
  const double calls = CallsShare(*rank);
  Finding finding{.culprit = rank->name,
                  .share = rank->waiting * (calls * of_calls + (1 - calls) * lack)};
  // Whatever else is slow makes threads crowd, too.
  finding.weight = finding.share * 0.5;
  finding.what = fmt::format("the threads of {}{} wait for processors",
                             rank->labels.empty() ? "" : "the process of ", rank->name);
  finding.evidence = {
      SplitOfStep(*rank),
      fmt::format("its threads used {:.2f} s of processors a second, and waited {:.2f} s for one",
                  *rank->processors, *rank->waited_for_processors)};
  const bool used_up = UsesUpProcessors(*rank);
  if (rank->usable_processors) {
    finding.evidence.push_back(fmt::format("it may use {:.2g} processors{}",
                                           *rank->usable_processors,
                                           used_up ? ", and uses them all" : ""));
  }
  finding.advice =
      used_up ? "give it more processors, or fewer --threads or --sample-threads"
              : "look at what else runs on its machine (top), and at its limits (taskset, cgroups)";
  return finding;
}

std::optional<Finding> FindFewSampleThreads(const Picture& picture) {
  const RankPicture* const rank = picture.Slowest();
  if (rank == nullptr || rank->waiting < 0.05) return {};
  const StageShares* const busiest = rank->Busiest();
  if (busiest == nullptr || busiest->busy < 0.75 || !IsSampling(busiest->name)) return {};
  // More threads would wait for the same processors.
  if (UsesUpProcessors(*rank) && LackOfProcessors(*rank) > 0) return {};
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
  const double cached = CountOf(*rank, kRows, {{"source", "cache"}});
  // Without a cache there is none of these; of an older trainer with one they are noted as missing.
  if (cached == 0 && !rank->evidence->metrics.has(kFetched)) return {};
  const double first = CountOf(*rank, kFetched, {{"fetch", "first"}});
  const double again = CountOf(*rank, kFetched, {{"fetch", "again"}});
  const StageShares* const busiest = rank->Busiest();
  if (busiest != nullptr && !IsFetching(busiest->name)) return {};
  if (first <= again) return {};
  // Fetching is calls, and taking in what they bring, by rows.
  const double remote = CountOf(*rank, kRows, {{"source", "remote"}});
  const double fetching = std::max(CallsShare(*rank), remote / std::max(remote + cached, 1.0));
  Finding finding{
      .culprit = rank->name,
      .share = rank->waiting * fetching * first / (first + again) * 0.9 * (1 - HeldUp(picture))};
  finding.what = fmt::format("the cache of {} is still cold: it warms up", rank->name);
  finding.evidence = {
      SplitOfStep(*rank),
      fmt::format("it fetched {} rows, {} of them for the first time",
                  FormatCount(std::llround(first + again)), Percent(first / (first + again))),
      fmt::format("the cache had {} rows", FormatCount(std::llround(cached)))};
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
  if (CountOf(*rank, kFetched, {}) > 0) {
    finding.evidence.push_back(
        fmt::format("its cache fetched {} rows again that it had no room to keep (--cache-memory)",
                    FormatCount(std::llround(CountOf(*rank, kFetched, {{"fetch", "again"}})))));
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
      "and more ranks make fewer of them";
  return finding;
}

}  // namespace halograph::ctl
