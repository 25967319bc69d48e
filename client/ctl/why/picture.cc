#include "client/ctl/why/picture.h"

#include <algorithm>
#include <set>
#include <utility>

#include "client/ctl/why/draw.h"
#include "client/ctl/why/lacks.h"

namespace halograph::ctl {
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
