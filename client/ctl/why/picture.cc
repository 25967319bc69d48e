#include "client/ctl/why/picture.h"

#include <algorithm>
#include <set>
#include <utility>

#include "client/ctl/why/draw.h"

namespace halograph::ctl {
namespace {

// Seconds of a call that grow on the way in any case: nobody knows of which threads' waits they
// are, but what trainers lack makes the ways to all servers long.
double LeastGrowing(const std::vector<ServerPicture>& servers) {
  std::optional<double> least;
  for (const ServerPicture& server : servers) {
    if (!server.seen_by_trainers || server.evidence == nullptr) continue;
    least = least ? std::min(*least, server.way_growing()) : server.way_growing();
  }
  return least.value_or(0);
}

// Seconds of a call for which threads of a trainer may have waited for processors: while one of
// them waits, it may hold up all calls that are under way. Of the trainer that has it least.
double LackOfTrainers(const std::vector<RankPicture>& ranks) {
  std::optional<double> least;
  for (const RankPicture& rank : ranks) {
    const auto calls = rank.evidence->metrics.Histogram(kAttempts);
    if (!calls || calls->count == 0) continue;
    const double seconds = rank.waited_for_processors.value_or(0) * calls->Mean();
    least = least ? std::min(*least, seconds) : seconds;
  }
  return least.value_or(0);
}

// Says of what grows on the way how much processors explain.
void DrawLacks(Picture* picture) {
  const double of_trainers =
      std::min(LackOfTrainers(picture->ranks), LeastGrowing(picture->servers));
  for (ServerPicture& server : picture->servers) {
    server.way_of_trainers = std::min(of_trainers, server.way_growing());
    const double of_server = server.waited_for_processors.value_or(0) * server.call_seconds;
    server.way_of_server = std::min(of_server, server.way_growing() - server.way_of_trainers);
  }
}

}  // namespace

double LowerMedian(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Picture Draw(const Evidence& evidence) {
  Picture picture;
  for (const TrainerEvidence& trainer : evidence.trainers) {
    if (!trainer.error.empty() || trainer.restarted) continue;
    DrawRanks(trainer, &picture.ranks);
    picture.seconds = std::max(picture.seconds, trainer.seconds);
  }
  std::set<std::string> targets;
  for (const RankPicture& rank : picture.ranks) {
    targets.merge(rank.evidence->metrics.ValuesOf(kAttempts, "grpc_target"));
  }
  for (const ServerEvidence& server : evidence.servers) {
    const bool by_own = !targets.contains(server.address) && targets.contains(server.own_address);
    const std::string target = by_own ? server.own_address : server.address;
    targets.erase(target);
    if (!server.error.empty() || server.restarted) continue;
    picture.seconds = std::max(picture.seconds, server.seconds);
    ServerPicture drawn{.address = server.address, .evidence = &server};
    DrawServer(picture.ranks, target, &drawn);
    picture.servers.push_back(std::move(drawn));
  }
  for (const std::string& target : targets) {
    ServerPicture drawn{.address = target};
    DrawServer(picture.ranks, target, &drawn);
    if (drawn.calls > 0) picture.servers.push_back(std::move(drawn));
  }
  DrawLacks(&picture);
  return picture;
}

const RankPicture* Picture::Slowest() const {
  const RankPicture* slowest = nullptr;
  for (const RankPicture& rank : ranks) {
    if (slowest == nullptr || rank.meeting < slowest->meeting) slowest = &rank;
  }
  return slowest;
}

}  // namespace halograph::ctl
