// Which of several servers that can answer is asked: how busy each is with calls of this client,
// and which are avoided. Knows no gRPC and no clock but for its waiting. Thread-safe.
//
// The least busy server is asked: the one with the fewest attempts of this client under way. Among
// equals it is the one that was asked longest ago; at first, number `first_turn` (modulo their
// number), so that several trainers do not all begin with the same one.
//
// Two kinds of servers are avoided while another can answer:
//   lost  did not answer, or refused a call that it should have taken. Until it is found again: by
//   a
//         call that it answers, or by who looks after it (WaitToLook), kFirstLook after it was
//         lost, and each time twice as long after that, up to kLongestLook. The doubling is
//         forgotten when it answers a call.
//   full  said that it can take no more, and when to come back. Until then, but no longer than
//         kLongestLook.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/base/mutex.h"

namespace halograph {

inline constexpr std::chrono::milliseconds kFirstLook{1000};
inline constexpr std::chrono::milliseconds kLongestLook{30000};

class ServerHealth {
 public:
  using Clock = std::chrono::steady_clock;
  struct Look {
    int server = -1;
    Clock::time_point when;
  };

  ServerHealth(int servers, int first_turn);

  // The one to ask out of `servers` (at least one, each once). Where all are avoided: one that is
  // lost before one that is full, and of these the one that is so for the shortest time.
  // `has_room`, if set: servers without are left out; -1 if all that may be asked are. A server
  // that is avoided is not asked because others have no room. `preferred`, if it is one of
  // `servers` and not avoided, is the only one that may be asked.
  [[nodiscard]] int Choose(std::span<const int> servers, Clock::time_point now,
                           const std::function<bool(int)>& has_room = nullptr, int preferred = -1);
  // Of each attempt, in this order.
  void Began(int server);
  void Ended(int server);

  // The server is full until then.
  void Full(int server, Clock::time_point now, Clock::time_point until);
  // When the server has room again: not after `now` if it did not say that it is full.
  [[nodiscard]] Clock::time_point FullUntil(int server) const;
  // The server is lost; true if it was not before.
  bool Lost(int server, Clock::time_point now);
  [[nodiscard]] bool lost(int server) const;
  // The server was looked at and can be asked; true if it was lost.
  bool Found(int server);
  // As Found: it answered a call.
  bool Answered(int server);

  // The lost server that is to be looked at first, and when; nothing if none is lost.
  [[nodiscard]] std::optional<Look> NextLook() const;
  // Waits until a lost server is to be looked at, and notes that it is: the next time is later. -1:
  // Stop was called.
  [[nodiscard]] int WaitToLook();
  void Stop();

 private:
  struct State {
    int under_way = 0;
    int64_t last_turn = 0;  // 0: never asked
    bool lost = false;
    Clock::time_point next_look;                   // of a lost server
    std::chrono::milliseconds pause = kFirstLook;  // before the look after that
    Clock::time_point full_until;
  };

  [[nodiscard]] State& Of(int server) HG_REQUIRES(mutex_) {
    return servers_[static_cast<size_t>(server)];
  }
  [[nodiscard]] std::optional<Look> NextLookLocked() const HG_REQUIRES(mutex_);
  void PlanLook(State* state, Clock::time_point now) HG_REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<State> servers_ HG_GUARDED_BY(mutex_);
  const size_t first_turn_;
  int64_t turns_ HG_GUARDED_BY(mutex_) = 0;
  bool stopped_ HG_GUARDED_BY(mutex_) = false;
};

}  // namespace halograph
