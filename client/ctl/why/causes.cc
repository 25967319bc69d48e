#include "client/ctl/why/causes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "common/base/units.h"

namespace halograph::ctl {
namespace {

constexpr std::array kTable = {
    Cause{"delay", FindDelay},
    Cause{"narrow-link", FindNarrowLink},
    Cause{"busy-processors", FindBusyProcessors},
    Cause{"server-work", FindServerWork},
    Cause{"reply-memory", FindReplyMemory},
    Cause{"slow-sync", FindSlowSync},
    Cause{"straggler", FindStraggler},
    Cause{"trainer-processors", FindTrainerProcessors},
    Cause{"few-sample-threads", FindFewSampleThreads},
    Cause{"cold-cache", FindColdCache},
    Cause{"preparing", FindPreparing},
    Cause{"computing", FindComputing},
};

struct CallsOfStage {
  const char* method;
  bool (*is_of)(const std::string& stage);
};
constexpr std::array kCallsOfStages = {
    CallsOfStage{"halograph.v1.GraphService/Sample", IsSampling},
    CallsOfStage{"halograph.v1.GraphService/ColumnSums", IsSampling},
    CallsOfStage{"halograph.v1.GraphService/Extract", IsSampling},
    CallsOfStage{"halograph.v1.KVService/Pull", IsFetching}};

}  // namespace

std::span<const Cause> Causes() { return kTable; }

double CallsShare(const RankPicture& rank) {
  const StageShares* const busiest = rank.Busiest();
  double seconds = 0;
  for (const auto& [method, is_of] : kCallsOfStages) {
    if (busiest != nullptr && !is_of(busiest->name)) continue;
    const auto calls = rank.evidence->metrics.Histogram("grpc_client_attempt_duration_seconds",
                                                        {{"grpc_method", method}});
    if (calls) seconds += calls->sum;
  }
  const double of_stage = rank.evidence->seconds * (busiest != nullptr ? busiest->busy : 1);
  return of_stage > 0 ? std::min(1.0, seconds / of_stage) : 0;
}

std::optional<double> WaitForCalls(const Picture& picture) {
  const RankPicture* const rank = picture.Slowest();
  if (rank == nullptr) return {};
  return rank->waiting * CallsShare(*rank);
}

Lack LackOfProcessors(const ServerPicture& server) {
  constexpr double kWorks = 0.02;  // less says nothing
  constexpr double kWaits = 0.3;   // of what its threads had to do
  // A call that waits for a thread while threads are idle waits for one to get a processor.
  const double to_do = server.working + (server.threads_are_busy() ? 0 : server.queueing);
  if (to_do < kWorks) return Lack::kNo;
  if (server.waited_for_processors) {
    return *server.waited_for_processors > kWaits * to_do ? Lack::kYes : Lack::kNo;
  }
  // Calls that wait for room for a reply or for a push hold no thread, but count as worked for.
  const bool waits_for_others = server.waiting_calls.value_or(0) > 0;
  const bool got_few = server.processors && *server.processors < 0.6 * server.working;
  return got_few && !waits_for_others ? Lack::kPerhaps : Lack::kNo;
}

double SecondsLacked(const ServerPicture& server) {
  const Lack lack = LackOfProcessors(server);
  if (lack == Lack::kNo) return 0;
  return server.work + server.queue + (lack == Lack::kYes ? server.way_of_server : 0);
}

bool AllLackAlike(const Picture& picture) {
  std::vector<double> seconds;
  for (const ServerPicture& server : picture.servers) {
    if (server.calls > 0) seconds.push_back(SecondsLacked(server));
  }
  if (seconds.size() < 2) return false;
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  return *least > 0 && *least >= 0.5 * *most;
}

double HeldUp(const Picture& picture) {
  const bool all_lack = AllLackAlike(picture);
  double held_up = 0;
  for (const ServerPicture& server : picture.servers) {
    if (!server.seen_by_trainers || server.call_seconds <= 0) continue;
    double seconds = FaultsOfWay(server) + server.memory;
    const bool lacks = LackOfProcessors(server) == Lack::kYes;
    if (!all_lack) seconds += lacks ? SecondsLacked(server) : server.queue;
    held_up = std::max(held_up, std::min(1.0, seconds / server.call_seconds));
  }
  return held_up;
}

std::string ShortSeconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.1 ? 1 : 0);
  return FormatSeconds(seconds);
}

std::string Percent(double share) { return fmt::format("{:.0f} %", share * 100); }

}  // namespace halograph::ctl
