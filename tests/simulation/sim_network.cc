#include "tests/simulation/sim_network.h"

#include <algorithm>

namespace halograph::sim {

SimNetwork::SimNetwork(SimScheduler* scheduler, uint64_t seed, int num_ends)
    : scheduler_(scheduler), random_(seed), arriving_(static_cast<size_t>(num_ends)) {}

void SimNetwork::Send(int from, int to, const std::shared_ptr<const Call>& call) {
  const auto cut = cut_until_ns_.find(std::minmax(from, to));
  const bool is_cut = cut != cut_until_ns_.end() && scheduler_->now_ns() < cut->second;
  if (is_cut || random_.Chance(chances_.drop)) {
    ++num_dropped_;
    return;
  }
  const int copies = random_.Chance(chances_.twice) ? 2 : 1;
  num_doubled_ += copies - 1;
  for (int i = 0; i < copies; ++i) {
    const int64_t delay_ns = random_.Between(10 * kMicrosecond, chances_.longest_delay_ns);
    arriving_[static_cast<size_t>(to)].emplace(scheduler_->now_ns() + delay_ns,
                                               Message{from, call});
  }
}

std::shared_ptr<const Call> SimNetwork::Take(int end) {
  if (!HasArrived(end)) return nullptr;
  auto& arriving = arriving_[static_cast<size_t>(end)];
  const std::shared_ptr<const Call> call = arriving.begin()->second.call;
  arriving.erase(arriving.begin());
  return call;
}

bool SimNetwork::HasArrived(int end) const { return NextArrivalNs(end) <= scheduler_->now_ns(); }

int64_t SimNetwork::NextArrivalNs(int end) const {
  const auto& arriving = arriving_[static_cast<size_t>(end)];
  return arriving.empty() ? kForever : arriving.begin()->first;
}

void SimNetwork::Cut(int a, int b, int64_t until_ns) {
  cut_until_ns_[std::minmax(a, b)] = until_ns;
}

void SimNetwork::Heal() {
  cut_until_ns_.clear();
  chances_ = {};
}

void SimNetwork::Forget(int end) {
  arriving_[static_cast<size_t>(end)].clear();
  for (auto& arriving : arriving_) {
    std::erase_if(arriving, [&](const auto& entry) { return entry.second.from == end; });
  }
}

}  // namespace halograph::sim
