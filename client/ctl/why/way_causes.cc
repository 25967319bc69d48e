// Causes that lie on the way between trainers and servers.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "client/ctl/why/suspects.h"
#include "common/base/units.h"

namespace halograph::ctl {
namespace {

// From which on a part of a call is a fault, in seconds and as a share of the call.
constexpr double kLongDelay = 0.7e-3;
constexpr double kLongDelayShare = 0.25;
constexpr double kLongFilling = 1e-3;
constexpr double kLongFillingShare = 0.3;

// Links by their names.
struct LinkClass {
  std::string_view name;
  double bytes_per_second;
};
constexpr std::array kLinks = {LinkClass{"10 Mbit/s", 1.25e6}, LinkClass{"100 Mbit/s", 12.5e6},
                               LinkClass{"1 Gbit/s", 125e6}, LinkClass{"10 Gbit/s", 1250e6}};

// The link that such bytes fill; null: none that has a name.
const LinkClass* LinkOf(double bytes_per_second) {
  for (const LinkClass& link : kLinks) {
    const double share = bytes_per_second / link.bytes_per_second;
    if (share > 0.8 && share < 1.03) return &link;
  }
  return nullptr;
}

// While calls were under way.
double Carried(const ServerPicture& server) {
  return server.bytes_per_second / std::clamp(server.outstanding, 0.05, 1.0);
}

// Seconds of a call that grow on the way with what is sent, and which no lack of processors
// explains. Where the bytes are those of a link, it is believed, and less so if a lack explains
// most.
double Filling(const ServerPicture& server) {
  if (LinkOf(server.bytes_per_second) != nullptr) return server.way_growing();
  return std::max(0.0, server.way_growing() - server.way_of_server - server.way_of_trainers);
}

}  // namespace

double FaultsOfWay(const ServerPicture& server) {
  double seconds = 0;
  const double delay = server.way_least;
  if (delay >= kLongDelay && delay >= kLongDelayShare * server.call_seconds) seconds += delay;
  const double filling = Filling(server);
  if (filling >= kLongFilling && filling >= kLongFillingShare * server.call_seconds) {
    seconds += filling;
  }
  return seconds;
}

std::optional<Finding> FindDelay(const Picture& picture) {
  const bool trainers = !picture.ranks.empty();
  // Without trainers, by empty calls from here.
  const Part part = [trainers](const ServerPicture& server) {
    if (trainers) return server.way_least;
    const bool known = server.evidence != nullptr && server.evidence->round_trip_seconds;
    return known ? *server.evidence->round_trip_seconds : 0;
  };
  const auto suspects = Suspects(picture, part, trainers ? kLongDelay : 2e-3, kLongDelayShare);
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
            "more steps ahead (--prefetch, --sample-threads), which costs no processor"
          : "look at what lies between the trainers and this server (ping, a proxy, another rack): "
            "move it nearer, or name a replica; more steps ahead (--prefetch, --sample-threads) "
            "hide some of it";
  return finding;
}

std::optional<Finding> FindNarrowLink(const Picture& picture) {
  const Part part = Filling;
  auto suspects = Suspects(picture, part, kLongFilling, kLongFillingShare);
  std::erase_if(suspects, [](const auto* server) { return server->bytes_per_second < 1e6; });
  if (suspects.empty()) return {};
  const ServerPicture& worst = *suspects.front();
  double elsewhere = 0;
  for (const ServerPicture& other : picture.servers) {
    if (&other != &worst && part(other) < 0.5 * part(worst)) {
      elsewhere = std::max(elsewhere, Carried(other));
    }
  }
  const double carried = Carried(worst);
  const LinkClass* const link = LinkOf(worst.bytes_per_second);
  Finding finding{.culprit = Addresses(suspects)};
  Weigh(picture, part(worst), &finding);
  // It may be trainers that read slowly, and the bytes those of a link by chance.
  const double lacked = worst.way_of_server + worst.way_of_trainers;
  if (link == nullptr && elsewhere < 1.5 * carried) {
    finding.weight = finding.share * 0.3;
  } else if (link != nullptr && lacked > 0.5 * worst.way_growing()) {
    finding.weight = finding.share * 0.5;
  }
  finding.what = fmt::format("the way from {} is full: it carries {}/s", finding.culprit,
                             FormatBytes(std::llround(worst.bytes_per_second)));
  finding.evidence.push_back(OfCalls(worst));
  finding.evidence.push_back(fmt::format("{} of it on the way, beyond the {} of its fastest calls",
                                         ShortSeconds(worst.way_growing()),
                                         ShortSeconds(worst.way_least)));
  if (lacked > 0) {
    finding.evidence.push_back(fmt::format(
        "threads that waited for processors explain {} of that at most", ShortSeconds(lacked)));
  }
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
  AddOthers(
      picture, suspects, [](const ServerPicture& server) { return server.way_growing(); },
      "beyond the fastest calls", &finding);
  finding.advice =
      "give the server a faster link, or spread its part over replicas; less to send helps too: "
      "features in a narrower type, more --cache-memory, --topology local";
  return finding;
}

}  // namespace halograph::ctl
