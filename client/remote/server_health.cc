#include "client/remote/server_health.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace halograph {

ServerHealth::ServerHealth(int servers, int first_turn)
    : servers_(static_cast<size_t>(servers)), first_turn_(static_cast<size_t>(first_turn)) {}

int ServerHealth::Choose(std::span<const int> servers, Clock::time_point now,
                         const std::function<bool(int)>& has_room, int preferred) {
  const MutexLock lock(mutex_);
  const auto avoided = [&](int server) HG_REQUIRES(mutex_) {
    return Of(server).lost || Of(server).full_until > now;
  };
  const auto found = std::find(servers.begin(), servers.end(), preferred);
  if (found != servers.end() && !avoided(preferred)) servers = std::span(&*found, 1);
  const bool all_avoided = std::all_of(servers.begin(), servers.end(), avoided);
  using Key = std::tuple<Clock::time_point, int, int64_t>;
  int best = -1;
  Key best_key;
  for (size_t i = 0; i < servers.size(); ++i) {
    const int server = servers[(first_turn_ + i) % servers.size()];
    if (!all_avoided && avoided(server)) continue;
    if (has_room && !has_room(server)) continue;
    const State& state = Of(server);
    const Key key{std::max(state.full_until, now), state.under_way, state.last_turn};
    if (best >= 0 && best_key <= key) continue;
    best = server;
    best_key = key;
  }
  if (best >= 0) Of(best).last_turn = ++turns_;
  return best;
}

void ServerHealth::Began(int server) {
  const MutexLock lock(mutex_);
  ++Of(server).under_way;
}

void ServerHealth::Ended(int server) {
  const MutexLock lock(mutex_);
  --Of(server).under_way;
}

void ServerHealth::Full(int server, Clock::time_point now, Clock::time_point until) {
  const MutexLock lock(mutex_);
  Of(server).full_until = std::min<Clock::time_point>(until, now + kLongestLook);
}

ServerHealth::Clock::time_point ServerHealth::FullUntil(int server) const {
  const MutexLock lock(mutex_);
  return servers_[static_cast<size_t>(server)].full_until;
}

void ServerHealth::PlanLook(State* state, Clock::time_point now) {
  state->next_look = now + state->pause;
  state->pause = std::min(2 * state->pause, kLongestLook);
}

bool ServerHealth::Lost(int server, Clock::time_point now) {
  const MutexLock lock(mutex_);
  if (std::exchange(Of(server).lost, true)) return false;
  PlanLook(&Of(server), now);
  changed_.NotifyAll();
  return true;
}

bool ServerHealth::lost(int server) const {
  const MutexLock lock(mutex_);
  return servers_[static_cast<size_t>(server)].lost;
}

bool ServerHealth::Found(int server) {
  const MutexLock lock(mutex_);
  return std::exchange(Of(server).lost, false);
}

bool ServerHealth::Answered(int server) {
  const MutexLock lock(mutex_);
  Of(server).pause = kFirstLook;
  return std::exchange(Of(server).lost, false);
}

std::optional<ServerHealth::Look> ServerHealth::NextLookLocked() const {
  std::optional<Look> next;
  for (size_t server = 0; server < servers_.size(); ++server) {
    const State& state = servers_[server];
    if (!state.lost || (next.has_value() && next->when <= state.next_look)) continue;
    next = Look{static_cast<int>(server), state.next_look};
  }
  return next;
}

std::optional<ServerHealth::Look> ServerHealth::NextLook() const {
  const MutexLock lock(mutex_);
  return NextLookLocked();
}

int ServerHealth::WaitToLook() {
  const MutexLock lock(mutex_);
  while (!stopped_) {
    const Clock::time_point now = Clock::now();
    const std::optional<Look> next = NextLookLocked();
    if (next.has_value() && next->when <= now) {
      PlanLook(&Of(next->server), now);
      return next->server;
    }
    // Woken early if another look is due sooner, or the only one need not be made.
    changed_.WaitUntil(mutex_, next.has_value() ? next->when : now + std::chrono::hours(1),
                       [&]() HG_REQUIRES(mutex_) {
                         const std::optional<Look> planned = NextLookLocked();
                         return stopped_ || planned.has_value() != next.has_value() ||
                                (planned.has_value() && planned->when < next->when);
                       });
  }
  return -1;
}

void ServerHealth::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

}  // namespace halograph
