// Replies on their way: handed to gRPC, and not yet sent. One that its client does not read would
// keep its memory for ever: so a reply has a deadline of its own, counted from then on. Knows no
// gRPC: it is told how to end a call. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "common/base/mutex.h"

namespace halograph::server {

class ReplyWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // What is done to a call that is given up.
  struct Hooks {
    void (*hold)(void* call);     // keeps it alive; quick, as the watch is locked
    void (*give_up)(void* call);  // ends it and lets go; without the lock, so it may call Remove
  };
  // How long a reply may take where others wait for memory, or the server for its end.
  static constexpr std::chrono::milliseconds kPatienceInNeed{1000};

  ReplyWatch(Hooks hooks, std::chrono::nanoseconds timeout) : hooks_(hooks), timeout_(timeout) {}

 private:
  struct Reply {
    void* call;
    std::string_view peer;
    Clock::time_point since;
    std::optional<Clock::time_point> given_up;
    bool peer_stuck = false;
  };

 public:
  using Place = std::list<Reply>::iterator;

  // From here on the reply is on its way, until Remove. `call` and `peer` must live until then.
  [[nodiscard]] Place Add(void* call, std::string_view peer, Clock::time_point now);
  // True if it was given up meanwhile, or its peer is stuck.
  [[nodiscard]] bool Remove(Place place);

  struct GivenUp {
    int64_t replies = 0;
    std::string peer;  // of the first
    // Those whose calls do not end though they were given up kPatienceInNeed ago: gRPC is writing
    // to them, and they do not read. Whoever shuts their connections ends all replies to them.
    std::set<std::string> stuck;
  };
  // Gives up those that took longer than the timeout, or kPatienceInNeed if that is shorter and
  // `in_need`; each once.
  GivenUp GiveUp(Clock::time_point now, bool in_need);

  [[nodiscard]] int64_t size() const;
  [[nodiscard]] std::chrono::nanoseconds timeout() const { return timeout_; }

 private:
  const Hooks hooks_;
  const std::chrono::nanoseconds timeout_;
  mutable Mutex mutex_;
  std::list<Reply> replies_ HG_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace halograph::server
