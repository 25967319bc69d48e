// Causes that lie with servers, or on the way to them.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include "client/ctl/why/causes.h"
#include "common/base/units.h"

namespace halograph::ctl {
namespace {

using Part = std::function<double(const ServerPicture&)>;  // seconds of a call

// Servers of which a part of a call's time is long: at least `least` seconds, this share of the
// call, and half of what it is at the worst of them. The worst first.
std::vector<const ServerPicture*> Suspects(const Picture& picture, const Part& part, double least,
                                           double least_share) {
  std::vector<const ServerPicture*> suspects;
  for (const ServerPicture& server : picture.servers) {
    if (server.calls == 0) continue;
    const double seconds = part(server);
    if (seconds >= least && seconds >= least_share * server.call_seconds) {
      suspects.push_back(&server);
    }
  }
  std::sort(suspects.begin(), suspects.end(),
            [&](const auto* one, const auto* other) { return part(*one) > part(*other); });
  const auto is_lesser = [&](const auto* server) {
    return part(*server) < 0.5 * part(*suspects.front());
  };
  const auto end = std::find_if(suspects.begin(), suspects.end(), is_lesser);
  suspects.erase(end, suspects.end());
  return suspects;
}

std::string Addresses(const std::vector<const ServerPicture*>& servers) {
  std::vector<std::string> addresses;
  addresses.reserve(servers.size());
  for (const ServerPicture* server : servers) addresses.push_back(server->address);
  return fmt::format("{}", fmt::join(addresses, ", "));
}

// What a part of the calls to the worst server costs: minibatches wait for the slowest server.
void Weigh(const Picture& picture, double part, Finding* finding) {
  double slowest = 0;
  for (const ServerPicture& other : picture.servers) {
    slowest = std::max(slowest, other.call_seconds);
  }
  const double all = std::max({slowest, part, 1e-12});
  finding->share = part / all;
  if (const auto wait = WaitForCalls(picture)) finding->share *= *wait;
}

bool StandsAlone(const Picture& picture, const std::vector<const ServerPicture*>& suspects) {
  return suspects.size() == 1 && picture.servers.size() > 1;
}

std::string OfCalls(const ServerPicture& server) {
  std::string text =
      server.seen_by_trainers
          ? fmt::format("a call to {} takes {} as trainers see it", server.address,
                        ShortSeconds(server.call_seconds))
          : fmt::format("a call to {} takes {}", server.address, ShortSeconds(server.call_seconds));
  if (server.answering > 0) {
    text += fmt::format(", {} until the server has answered it", ShortSeconds(server.answering));
  }
  return text;
}

// "the other servers: 0.4 ms"
void AddOthers(const Picture& picture, const std::vector<const ServerPicture*>& suspects,
               const Part& part, std::string_view what, Finding* finding) {
  std::vector<std::string> others;
  for (const ServerPicture& server : picture.servers) {
    if (server.calls == 0 ||
        std::find(suspects.begin(), suspects.end(), &server) != suspects.end()) {
      continue;
    }
    others.push_back(fmt::format("{} at {}", ShortSeconds(part(server)), server.address));
  }
  constexpr size_t kShown = 3;
  if (others.size() > kShown) others.resize(kShown);
  if (!others.empty()) {
    finding->evidence.push_back(fmt::format("{} elsewhere: {}", what, fmt::join(others, ", ")));
  }
}

// The share of the link that bytes come to, if they are near what such a link carries.
struct LinkClass {
  std::string_view name;
  double bytes_per_second;
};
constexpr std::array kLinks = {LinkClass{"10 Mbit/s", 1.25e6}, LinkClass{"100 Mbit/s", 12.5e6},
                               LinkClass{"1 Gbit/s", 125e6}, LinkClass{"10 Gbit/s", 1250e6}};

const LinkClass* LinkOf(double bytes_per_second) {
  for (const LinkClass& link : kLinks) {
    const double share = bytes_per_second / link.bytes_per_second;
    if (share > 0.65 && share < 1.03) return &link;
  }
  return nullptr;
}

// While calls were under way.
double Carried(const ServerPicture& server) {
  return server.bytes_per_second / std::clamp(server.outstanding, 0.05, 1.0);
}

}  // namespace

std::optional<Finding> FindDelay(const Picture& picture) {
  const bool trainers = !picture.ranks.empty();
  // Without trainers, by empty calls from here.
  const Part part = [trainers](const ServerPicture& server) {
    if (trainers) return server.way_least;
    const bool known = server.evidence != nullptr && server.evidence->round_trip_seconds;
    return known ? *server.evidence->round_trip_seconds : 0;
  };
  const auto suspects = Suspects(picture, part, trainers ? 0.7e-3 : 2e-3, 0.25);
  if (suspects.empty()) return {};
  const ServerPicture& worst = *suspects.front();
  Finding finding{.culprit = Addresses(suspects)};
  Weigh(picture, part(worst), &finding);
  // What a server counts of a call is without the way.
  if (!trainers) finding.share = part(worst) / (worst.call_seconds + part(worst));
  finding.what = fmt::format("the way to {} takes {}, however little is sent", finding.culprit,
                             ShortSeconds(part(worst)));
  finding.evidence.push_back(OfCalls(worst));
  if (trainers) {
    finding.evidence.push_back(fmt::format("nine of ten calls to it spent {} or more on the way",
                                           ShortSeconds(worst.way_least)));
  }
  if (worst.evidence != nullptr && worst.evidence->round_trip_seconds) {
    finding.evidence.push_back(fmt::format("an empty call from here took {} at least",
                                           ShortSeconds(*worst.evidence->round_trip_seconds)));
  }
  AddOthers(picture, suspects, part, "on the way", &finding);
  finding.advice =
      suspects.size() > 1 && suspects.size() == picture.servers.size()
          ? "every server is far from the trainers: run them nearer to one another, or ask for "
            "more "
            "steps ahead (--prefetch, --sample-threads), which costs no processor"
          : "look at what lies between the trainers and this server (ping, a proxy, another rack): "
            "move it nearer, or name a replica; more steps ahead (--prefetch, --sample-threads) "
            "hide "
            "some of it";
  return finding;
}

std::optional<Finding> FindNarrowLink(const Picture& picture) {
  const Part part = [](const ServerPicture& server) { return server.way_growing(); };
  auto suspects = Suspects(picture, part, 1e-3, 0.3);
  std::erase_if(suspects, [](const auto* server) { return server->bytes_per_second < 1e6; });
  if (suspects.empty()) return {};
  const ServerPicture& worst = *suspects.front();
  double elsewhere = 0;
  for (const ServerPicture& other : picture.servers) {
    if (&other != &worst && other.way_growing() < 0.5 * worst.way_growing()) {
      elsewhere = std::max(elsewhere, Carried(other));
    }
  }
  const double carried = Carried(worst);
  const LinkClass* const link = LinkOf(worst.bytes_per_second);
  Finding finding{.culprit = Addresses(suspects)};
  Weigh(picture, part(worst), &finding);
  // Calls of trainers that lack processors, too, take the longer the more comes.
  if (link == nullptr && elsewhere < 1.5 * carried) finding.weight = finding.share * 0.3;
  finding.what = fmt::format("the way from {} is full: it carries {}/s", finding.culprit,
                             FormatBytes(std::llround(worst.bytes_per_second)));
  finding.evidence.push_back(OfCalls(worst));
  finding.evidence.push_back(fmt::format("{} of it on the way, beyond the {} of its fastest calls",
                                         ShortSeconds(worst.way_growing()),
                                         ShortSeconds(worst.way_least)));
  if (link != nullptr) {
    finding.evidence.push_back(
        fmt::format("{:.0f} Mbit/s are {} of a link of {}", worst.bytes_per_second * 8e-6,
                    Percent(worst.bytes_per_second / link->bytes_per_second), link->name));
  }
  if (worst.evidence != nullptr) {
    const auto sending = worst.evidence->metrics.Counter("halograph_server_sending_seconds_total");
    if (sending) {
      finding.evidence.push_back(fmt::format("its replies spent {} being sent in {} of looking",
                                             ShortSeconds(*sending),
                                             ShortSeconds(picture.seconds)));
    }
  }
  AddOthers(picture, suspects, part, "beyond the fastest calls", &finding);
  finding.advice =
      "give the server a faster link, or spread its part over replicas; less to send helps too: "
      "features in a narrower type, more --cache-memory, --topology local";
  return finding;
}

std::optional<Finding> FindBusyProcessors(const Picture& picture) {
  const Part part = [](const ServerPicture& server) {
    return LackOfProcessors(server) != Lack::kNo ? server.work + server.queue : 0;
  };
  const auto suspects = Suspects(picture, part, 0.1e-3, 0.25);
  if (suspects.empty()) return {};
  const ServerPicture& worst = *suspects.front();
  const bool sure = LackOfProcessors(worst) == Lack::kYes;
  Finding finding{.culprit = Addresses(suspects)};
  Weigh(picture, part(worst), &finding);
  finding.what =
      fmt::format("{} {} too little of {} processors: other programs use them", finding.culprit,
                  suspects.size() > 1 ? "get" : "gets", suspects.size() > 1 ? "their" : "its");
  if (!sure) {
    finding.weight = finding.share * 0.3;
    finding.what += ", or its threads wait for its disk";
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
