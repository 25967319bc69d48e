#include "client/ctl/why/suspects.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace halograph::ctl {

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

}  // namespace halograph::ctl
