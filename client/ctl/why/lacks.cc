#include "client/ctl/why/lacks.h"

#include <algorithm>
#include <vector>

namespace halograph::ctl {
namespace {

constexpr double kGoodPart = 0.3;  // of the time in which threads had work to do

// What grows on the way to every server: a trainer that lacks processors slows all ways alike.
double LeastGrowing(const std::vector<ServerPicture>& servers) {
  std::optional<double> least;
  for (const ServerPicture& server : servers) {
    if (!server.way_known) continue;
    least = least ? std::min(*least, server.way_growing()) : server.way_growing();
  }
  return least.value_or(0);
}

// Seconds of a call for which threads of a trainer may have waited for processors: while one of
// them waits, it may hold up all calls that are under way. Of the trainer that has it least.
double LackOfTrainers(const std::vector<RankPicture>& ranks) {
  std::optional<double> least;
  for (const RankPicture& rank : ranks) {
    const auto calls = rank.evidence->metrics.Histogram(kAttempts, {{"grpc_status", "OK"}});
    if (!calls || calls->count == 0 || !rank.waited_for_processors) continue;
    const double seconds =
        LackOfProcessors(rank) > 0 ? *rank.waited_for_processors * calls->Mean() : 0;
    least = least ? std::min(*least, seconds) : seconds;
  }
  return least.value_or(0);
}

}  // namespace

Lack LackOfProcessors(const ServerPicture& server) {
  constexpr double kWorks = 0.02;  // less says nothing
  // A call that waits for a thread while threads are idle waits for one to get a processor.
  const double to_do = server.working + (server.threads_are_busy() ? 0 : server.queueing);
  if (to_do < kWorks) return Lack::kNo;
  if (server.waited_for_processors) {
    return *server.waited_for_processors > kGoodPart * to_do ? Lack::kYes : Lack::kNo;
  }
  // Calls that wait for room for a reply or for a push hold no thread, but count as worked for.
  const bool waits_for_others = server.waiting_calls.value_or(0) > 0;
  const bool got_few = server.processors && *server.processors < 0.6 * server.working;
  return got_few && !waits_for_others ? Lack::kPerhaps : Lack::kNo;
}

double SecondsLacked(const ServerPicture& server) {
  if (LackOfProcessors(server) == Lack::kNo) return 0;
  return server.work + server.queue + server.way_of_server;
}

bool AllLackAlike(const Picture& picture) {
  std::vector<double> seconds;
  for (const ServerPicture& server : picture.servers) {
    const bool tells = server.waited_for_processors || server.processors;
    if (server.calls > 0 && tells) seconds.push_back(SecondsLacked(server));
  }
  if (seconds.size() < 2) return false;
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  return *least > 0 && *least >= 0.5 * *most;
}

double LackOfProcessors(const RankPicture& rank) {
  if (!rank.processors || !rank.waited_for_processors) return 0;
  const double to_do = *rank.processors + *rank.waited_for_processors;
  return *rank.waited_for_processors > kGoodPart * to_do ? *rank.waited_for_processors / to_do : 0;
}

bool UsesUpProcessors(const RankPicture& rank) {
  return rank.processors && rank.usable_processors &&
         *rank.processors > 0.9 * *rank.usable_processors;
}

void DrawLacks(Picture* picture) {
  const double of_trainers =
      std::min(LackOfTrainers(picture->ranks), LeastGrowing(picture->servers));
  for (ServerPicture& server : picture->servers) {
    if (!server.way_known) continue;
    server.way_of_trainers = std::min(of_trainers, server.way_growing());
    if (LackOfProcessors(server) != Lack::kYes) continue;
    const double of_server = *server.waited_for_processors * server.call_seconds;
    server.way_of_server = std::min(of_server, server.way_growing() - server.way_of_trainers);
  }
}

}  // namespace halograph::ctl
