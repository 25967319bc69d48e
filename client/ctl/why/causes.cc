#include "client/ctl/why/causes.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "client/ctl/why/lacks.h"
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
    const auto calls = rank.evidence->metrics.Histogram(kAttempts, {{"grpc_method", method}});
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

double HeldUp(const Picture& picture) {
  const bool all_lack = AllLackAlike(picture);
  double held_up = 0;
  for (const ServerPicture& server : picture.servers) {
    if (!server.seen_by_trainers || server.call_seconds <= 0) continue;
    double way = FaultsOfWay(server);
    double seconds = server.memory;
    if (!all_lack) {
      seconds += server.queue;
      if (LackOfProcessors(server) == Lack::kYes) seconds += server.work;
      way += server.way_of_server;
    }
    seconds += std::min(way, server.way);
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
