#include "common/ui/figures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "common/base/list_some.h"
#include "common/metrics/snapshot.h"
#include "common/ui/html.h"

namespace halograph::ui {
namespace {

constexpr size_t kMostPartsNamed = 8;

// Parts that no server serves. Without the other servers nobody can say.
void AddPartsWithoutServer(const UiData& data, std::vector<std::string>& problems) {
  if (!data.why_alone.empty()) return;
  std::vector<int> missing;
  for (int part = 0; part < NumParts(data); ++part) {
    const bool served =
        std::any_of(data.servers.begin(), data.servers.end(),
                    [&](const ServerFigures& server) { return Serves(server, part); });
    if (!served) missing.push_back(part);
  }
  if (missing.empty()) return;
  problems.push_back(
      fmt::format("Nobody serves part {}. Start a server for it.",
                  ListSome(missing, kMostPartsNamed, [](int part) { return part; })));
}

void AddNearlyFull(const ServerFigures& server, std::string_view what, double used, double limit,
                   std::vector<std::string>& problems) {
  if (limit <= 0 || used < kNearlyFull * limit) return;
  problems.push_back(fmt::format("{}: {} is at {:.0f} % of its bound. Calls beyond it are refused.",
                                 server.address, what, 100 * used / limit));
}

void AddStateProblems(const ServerFigures& server, std::vector<std::string>& problems) {
  for (const TensorFigures& tensor : server.tensors) {
    if (!tensor.refused.empty()) {
      problems.push_back(fmt::format("{}: tensor {} of part {} takes no pushes: {}", server.address,
                                     tensor.name, tensor.part, tensor.refused));
    }
  }
  for (const LogFigures& log : server.logs) {
    if (log.refuses_pushes) {
      problems.push_back(
          fmt::format("{}: part {} takes no pushes. Its log says why.", server.address, log.part));
    }
  }
}

void AddClockProblem(const ServerFigures& server, std::vector<std::string>& problems) {
  const double off = server.clock_seconds_off.value_or(0);
  // Its clock was read at some time between question and answer.
  if (std::abs(off) - server.round_trip_seconds / 2 <= kClockOff) return;
  problems.push_back(
      fmt::format("The clock of {} is {} {} that of this page's server: set it (chronyc tracking, "
                  "timedatectl), or times in logs and traces do not fit.",
                  server.address, ShowSeconds(std::abs(off)), off > 0 ? "ahead of" : "behind"));
}

void AddProblemsOf(const ServerFigures& server, const Speed& speed,
                   std::vector<std::string>& problems) {
  if (!server.phase.empty() && server.phase != "serving") {
    problems.push_back(fmt::format("{} is not ready: {}.", server.address, server.phase));
  }
  if (!server.has_metrics && (server.phase.empty() || server.phase == "serving")) {
    problems.push_back(
        fmt::format("{} is of an older version, {}, which tells less: update it to see all.",
                    server.address, server.version));
  }
  AddStateProblems(server, problems);
  for (const PoolFigures& pool : server.pools) {
    AddNearlyFull(server, fmt::format("the queue \"{}\"", pool.name),
                  static_cast<double>(pool.queued), static_cast<double>(pool.queue_limit),
                  problems);
  }
  AddNearlyFull(server, "request memory", static_cast<double>(server.request_memory),
                static_cast<double>(server.request_memory_limit), problems);
  AddNearlyFull(server, "reply memory", static_cast<double>(server.reply_memory),
                static_cast<double>(server.reply_memory_limit), problems);
  if (speed.slow) {
    problems.push_back(
        fmt::format("{} is slow: its p99 of {} is {:.1f} times the median of the "
                    "servers.",
                    server.address, ShowSeconds(speed.p99_seconds), speed.ratio));
  }
}

}  // namespace

double Quantile(const Histogram& histogram, double q) {
  return QuantileOf(histogram.bounds, histogram.counts, q).value_or(-1);
}

void Add(const Histogram& histogram, Histogram& sum) {
  if (histogram.counts.size() != histogram.bounds.size() + 1) return;
  if (sum.bounds == histogram.bounds && !sum.counts.empty()) {
    for (size_t i = 0; i < sum.counts.size(); ++i) sum.counts[i] += histogram.counts[i];
    return;
  }
  std::map<double, int64_t> merged;
  int64_t above = 0;
  for (const Histogram* each : {static_cast<const Histogram*>(&sum), &histogram}) {
    for (size_t i = 0; i < each->bounds.size(); ++i) merged[each->bounds[i]] += each->counts[i];
    if (!each->counts.empty()) above += each->counts.back();
  }
  sum = {};
  for (const auto& [bound, count] : merged) {
    sum.bounds.push_back(bound);
    sum.counts.push_back(count);
  }
  sum.counts.push_back(above);
}

bool OfClients(std::string_view method) {
  const bool known = method.find("GraphService/") != std::string_view::npos ||
                     method.find("KVService/") != std::string_view::npos;
  return known && !method.ends_with("/Describe");
}

Histogram RecentLatency(const ServerFigures& server) {
  Histogram sum;
  for (const MethodFigures& method : server.methods) {
    if (OfClients(method.name)) Add(method.latency, sum);
  }
  return sum;
}

std::vector<Speed> Speeds(const std::vector<ServerFigures>& servers) {
  std::vector<Speed> speeds;
  std::vector<double> known;
  for (const ServerFigures& server : servers) {
    const Histogram latency = RecentLatency(server);
    speeds.push_back(
        {.p50_seconds = Quantile(latency, 0.5), .p99_seconds = Quantile(latency, 0.99)});
    if (speeds.back().p99_seconds >= 0) known.push_back(speeds.back().p99_seconds);
  }
  if (known.size() < 2) return speeds;
  std::sort(known.begin(), known.end());
  // The lower of two: of two servers the slower one is compared with the other.
  const double median = known[(known.size() - 1) / 2];
  for (Speed& speed : speeds) {
    if (speed.p99_seconds < 0 || median <= 0) continue;
    speed.ratio = speed.p99_seconds / median;
    speed.slow = speed.ratio > kSlowRatio && speed.p99_seconds >= median + kSlowSeconds;
  }
  return speeds;
}

int NumParts(const UiData& data) {
  int parts = 0;
  for (const ServerFigures& server : data.servers) parts = std::max(parts, server.num_parts);
  return parts;
}

bool Serves(const ServerFigures& server, int part) {
  return server.error.empty() && std::any_of(server.parts.begin(), server.parts.end(),
                                             [&](const PartFigures& p) { return p.part == part; });
}

std::vector<std::string> Problems(const UiData& data) {
  std::vector<std::string> problems;
  AddPartsWithoutServer(data, problems);
  for (const ServerFigures& server : data.servers) {
    if (server.error.empty()) continue;
    problems.push_back(fmt::format("{}{}: {}.", server.address,
                                   server.another_graph ? "" : " gives no figures", server.error));
  }
  const std::vector<Speed> speeds = Speeds(data.servers);
  for (size_t i = 0; i < data.servers.size(); ++i) {
    AddClockProblem(data.servers[i], problems);
    if (data.servers[i].error.empty()) AddProblemsOf(data.servers[i], speeds[i], problems);
  }
  if (problems.size() > kMostProblems) {
    const size_t more = problems.size() - kMostProblems;
    problems.resize(kMostProblems);
    problems.push_back(fmt::format("{} more are not shown.", more));
  }
  return problems;
}

}  // namespace halograph::ui
