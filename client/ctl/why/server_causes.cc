// Causes that lie with servers.
#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "client/ctl/why/lacks.h"
#include "client/ctl/why/suspects.h"
#include "common/base/units.h"

namespace halograph::ctl {

std::optional<Finding> FindBusyProcessors(const Picture& picture) {
  const Part part = SecondsLacked;
  const auto suspects = Suspects(picture, part, 0.1e-3, 0.25);
  if (suspects.empty()) return {};
  const ServerPicture& worst = *suspects.front();
  const bool sure = LackOfProcessors(worst) == Lack::kYes;
  Finding finding{.culprit = Addresses(suspects)};
  Weigh(picture, part(worst), &finding);
  const bool all = AllLackAlike(picture);
  finding.what =
      fmt::format("{} {} too little of {} processors: {}", finding.culprit,
                  suspects.size() > 1 ? "get" : "gets", suspects.size() > 1 ? "their" : "its",
                  all ? "trainers ask all servers for much, or other programs use them"
                      : "other programs use them");
  if (all) finding.weight = finding.share * 0.5;
  if (!sure) {
    finding.weight = finding.share * 0.3;
    finding.what += ", or threads wait for a disk";
  }
  finding.evidence.push_back(OfCalls(worst));
  if (worst.processors) {
    finding.evidence.push_back(
        fmt::format("its threads worked {:.2f} s a second and got {:.2f} s of processors",
                    worst.working, *worst.processors));
  }
  if (worst.waited_for_processors) {
    finding.evidence.push_back(
        fmt::format("they waited {:.2f} s a second for a processor", *worst.waited_for_processors));
  }
  if (worst.queue > 0) {
    finding.evidence.push_back(
        fmt::format("calls waited {} for a thread", ShortSeconds(worst.queue)));
  }
  if (sure && worst.way_of_server > 0) {
    finding.evidence.push_back(
        fmt::format("that held up {} of a call on its way into the server and out of it",
                    ShortSeconds(worst.way_of_server)));
  }
  AddOthers(
      picture, suspects, [](const ServerPicture& server) { return server.work + server.queue; },
      "queue and work", &finding);
  finding.advice =
      "look at what else runs on its machine (top), and at its limits (taskset, cgroups): move one "
      "of them, or give the server processors of its own";
  return finding;
}

std::optional<Finding> FindServerWork(const Picture& picture) {
  const Part part = [](const ServerPicture& server) {
    return LackOfProcessors(server) == Lack::kNo ? server.work + server.queue : 0;
  };
  const auto suspects = Suspects(picture, part, 0.2e-3, 0.4);
  if (suspects.empty()) return {};
  const ServerPicture& worst = *suspects.front();
  Finding finding{.culprit = Addresses(suspects)};
  Weigh(picture, part(worst), &finding);
  finding.evidence.push_back(OfCalls(worst));
  const MetricChange* const metrics =
      worst.evidence == nullptr ? nullptr : &worst.evidence->metrics;
  const auto processors =
      metrics == nullptr ? std::nullopt : metrics->Gauge("process_usable_processors");
  if (worst.threads) {
    finding.evidence.push_back(
        fmt::format("{:.1f} of its {:.0f} threads (--threads) worked, on average", worst.working,
                    *worst.threads));
  }
  const bool queues =
      worst.threads_are_busy() && worst.queue > 0.25 * worst.call_seconds && worst.queue > 0.2e-3;
  if (queues) {
    finding.evidence.push_back(
        fmt::format("calls waited {} for a thread", ShortSeconds(worst.queue)));
  }
  if (worst.processors) {
    finding.evidence.push_back(fmt::format("it used {:.2f} processors", *worst.processors));
  }
  AddOthers(picture, suspects, part, "queue and work", &finding);
  const bool has_processors =
      queues && processors && worst.processors && *worst.processors < 0.7 * *processors;
  if (has_processors) {
    finding.cause = "few-server-threads";
    finding.what = fmt::format("{} {} too few threads: calls wait for one, and processors are left",
                               finding.culprit, suspects.size() > 1 ? "have" : "has");
    finding.advice = "give it more --threads";
    return finding;
  }
  if (picture.ranks.empty() && !queues &&
      !(worst.threads && worst.working > 0.6 * *worst.threads)) {
    // Nobody says that it takes too long.
    const auto is_fast = [&](const ServerPicture& other) {
      return other.calls > 0 && 2 * part(other) < part(worst);
    };
    if (std::none_of(picture.servers.begin(), picture.servers.end(), is_fast)) return {};
  }
  // What a server does for its calls is no fault of it.
  finding.weight = finding.share * 0.4;
  finding.what = fmt::format("the work itself takes long at {}", finding.culprit);
  finding.advice =
      StandsAlone(picture, suspects)
          ? "it works more than the others: balance the parts, or serve this part by a replica too"
          : "serve the parts by more servers (replicas) or on more processors; fewer --fanouts ask "
            "for less";
  return finding;
}

std::optional<Finding> FindReplyMemory(const Picture& picture) {
  const ServerPicture* worst = nullptr;
  double worst_share = 0;
  for (const ServerPicture& server : picture.servers) {
    if (server.evidence == nullptr) continue;
    const auto waited =
        server.evidence->metrics.Counter("halograph_server_reply_wait_seconds_total");
    const auto refused = server.evidence->metrics.Counter("halograph_server_refused_total",
                                                          {{"reason", "reply_memory"}});
    const auto all = server.evidence->metrics.Histogram("grpc_server_call_duration_seconds");
    if (!waited || !all || all->sum <= 0) continue;
    const double trainers_seconds = server.outstanding * picture.seconds;
    double share = std::min(1.0, *waited / std::max({all->sum, trainers_seconds, 1e-9}));
    if (refused && *refused > 0 && all->count > 0) {
      share = std::max(share, *refused / static_cast<double>(all->count));
    }
    if (share > worst_share) {
      worst = &server;
      worst_share = share;
    }
  }
  if (worst == nullptr || worst_share < 0.05) return {};
  const MetricChange& metrics = worst->evidence->metrics;
  Finding finding{.culprit = worst->address, .share = std::min(1.0, worst_share)};
  if (const auto wait = WaitForCalls(picture)) {
    // Between two tries of a call none is under way.
    finding.share *= std::max(*wait, picture.Slowest()->waiting * std::min(1.0, 2 * worst_share));
  }
  finding.what = fmt::format("the reply memory of {} is full: calls wait for room", worst->address);
  finding.evidence.push_back(fmt::format(
      "its calls waited {} for room in {} of looking, {} of their time",
      ShortSeconds(metrics.Counter("halograph_server_reply_wait_seconds_total").value_or(0)),
      ShortSeconds(worst->evidence->seconds), Percent(worst_share)));
  const auto refused =
      metrics.Counter("halograph_server_refused_total", {{"reason", "reply_memory"}});
  if (refused) finding.evidence.push_back(fmt::format("{:.0f} were refused for it", *refused));
  const auto used = metrics.Gauge("halograph_server_reply_memory_bytes");
  const auto limit = metrics.Gauge("halograph_server_reply_memory_limit_bytes");
  if (used && limit) {
    finding.evidence.push_back(fmt::format("it has {} of {} (--reply-memory) in use now",
                                           FormatBytes(std::llround(*used)),
                                           FormatBytes(std::llround(*limit))));
  }
  const auto unread = metrics.Counter("halograph_server_unread_replies_total");
  if (unread && *unread > 0) {
    finding.evidence.push_back(
        fmt::format("{:.0f} replies were given up, not read by their clients", *unread));
  }
  finding.advice =
      "give it more --reply-memory; if its way out is full, that fills it: look for clients that "
      "read slowly or not at all (halograph-ctl doctor)";
  return finding;
}

std::optional<Finding> FindSlowSync(const Picture& picture) {
  constexpr char kSync[] = "halograph_state_sync_seconds";
  constexpr double kOften = 0.15;  // of the time
  struct Log {
    const ServerPicture* server;
    std::string part;
    HistogramValues syncs;
    double busy;
  };
  std::vector<Log> logs;
  for (const ServerPicture& server : picture.servers) {
    if (server.evidence == nullptr || !server.evidence->metrics.has(kSync)) continue;
    const MetricChange& metrics = server.evidence->metrics;
    for (const std::string& part : metrics.ValuesOf(kSync, "part")) {
      const auto syncs = metrics.Histogram(kSync, {{"part", part}});
      if (!syncs || syncs->count == 0) continue;
      logs.push_back(
          {&server, part, *syncs, syncs->sum / std::max(server.evidence->seconds, 1e-9)});
    }
  }
  if (logs.empty()) return {};
  const Log& worst = *std::max_element(logs.begin(), logs.end(), [](const Log& a, const Log& b) {
    return a.syncs.Mean() * std::min(1.0, a.busy) < b.syncs.Mean() * std::min(1.0, b.busy);
  });
  const MetricChange& metrics = worst.server->evidence->metrics;
  const auto pushes =
      metrics.Histogram("grpc_server_call_duration_seconds",
                        {{"grpc_method", "halograph.v1.KVService/Push"}, {"grpc_status", "OK"}});
  // A push waits for a sync: where pushes take much longer, they wait for other things.
  const bool waits = pushes && pushes->count > 0 && worst.syncs.Mean() > 0.25 * pushes->Mean();
  if (worst.busy < kOften || worst.syncs.Mean() < 0.5e-3 || !waits) return {};
  Finding finding{.culprit = fmt::format("part {} at {}", worst.part, worst.server->address),
                  .share = std::min(1.0, worst.busy)};
  if (const RankPicture* const rank = picture.Slowest()) {
    finding.share = std::min(finding.share, 1 - rank->computing);
  }
  finding.what = fmt::format("pushes to {} wait for its disk: a sync of the log takes {}",
                             finding.culprit, ShortSeconds(worst.syncs.Mean()));
  finding.evidence.push_back(fmt::format("{} syncs took {}, {} of the time", worst.syncs.count,
                                         ShortSeconds(worst.syncs.sum),
                                         Percent(std::min(1.0, worst.busy))));
  finding.evidence.push_back(
      fmt::format("{} pushes took {} each", pushes->count, ShortSeconds(pushes->Mean())));
  std::vector<std::string> others;
  for (const Log& log : logs) {
    if (&log == &worst || others.size() == 3) continue;
    others.push_back(fmt::format("{} for part {} at {}", ShortSeconds(log.syncs.Mean()), log.part,
                                 log.server->address));
  }
  if (!others.empty()) {
    finding.evidence.push_back(fmt::format("a sync elsewhere: {}", fmt::join(others, ", ")));
  }
  finding.advice =
      "put --state on a faster disk, and look at what else writes to it; fewer, larger pushes need "
      "fewer syncs, and --staleness lets steps go on meanwhile";
  return finding;
}

}  // namespace halograph::ctl
