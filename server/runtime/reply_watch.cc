#include "server/runtime/reply_watch.h"

#include <algorithm>

namespace halograph::server {

ReplyWatch::Place ReplyWatch::Add(void* call, std::string_view peer, Clock::time_point now) {
  std::list<Reply> one{{call, peer, now, std::nullopt}};  // allocates without the lock
  const Place place = one.begin();
  const MutexLock lock(mutex_);
  replies_.splice(replies_.end(), one);
  return place;
}

void ReplyWatch::Remove(Place place) {
  std::list<Reply> one;
  const MutexLock lock(mutex_);
  one.splice(one.begin(), replies_, place);
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
