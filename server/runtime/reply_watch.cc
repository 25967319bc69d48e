#include "server/runtime/reply_watch.h"

#include <algorithm>
#include <string>
#include <vector>

namespace halograph::server {

ReplyWatch::Place ReplyWatch::Add(void* call, std::string_view peer, Clock::time_point now) {
  std::list<Reply> one{{.call = call,
                        .peer = peer,
                        .since = now,
                        .given_up = {},
                        .peer_stuck = false}};  // allocates without the lock
  const Place place = one.begin();
  const MutexLock lock(mutex_);
  replies_.splice(replies_.end(), one);
  return place;
}

bool ReplyWatch::Remove(Place place) {
  std::list<Reply> one;
  {
    const MutexLock lock(mutex_);
    one.splice(one.begin(), replies_, place);
  }
  return one.front().given_up.has_value() || one.front().peer_stuck;
}

ReplyWatch::GivenUp ReplyWatch::GiveUp(Clock::time_point now, bool in_need) {
  const std::chrono::nanoseconds patience =
      in_need ? std::min<std::chrono::nanoseconds>(timeout_, kPatienceInNeed) : timeout_;
  GivenUp given_up;
  std::vector<void*> calls;
  {
    const MutexLock lock(mutex_);
    for (Reply& reply : replies_) {
      if (now - reply.since < patience) break;
      if (reply.given_up.has_value()) {
        if (now - *reply.given_up >= kPatienceInNeed) given_up.stuck.emplace(reply.peer);
        continue;
      }
      if (calls.empty()) given_up.peer = reply.peer;
      reply.given_up = now;
      hooks_.hold(reply.call);
      calls.push_back(reply.call);
    }
    if (!given_up.stuck.empty()) {
      for (Reply& reply : replies_) {
        if (given_up.stuck.contains(std::string(reply.peer))) reply.peer_stuck = true;
      }
    }
  }
  for (void* call : calls) hooks_.give_up(call);
  given_up.replies = static_cast<int64_t>(calls.size());
  return given_up;
}

int64_t ReplyWatch::size() const {
  const MutexLock lock(mutex_);
  return static_cast<int64_t>(replies_.size());
}

}  // namespace halograph::server
