#include "server/runtime/slow_calls.h"

#include <utility>

namespace halograph::server {

void SlowCalls::Add(SlowCall call) {
  const MutexLock lock(mutex_);
  if (calls_.size() == kMost) calls_.pop_front();
  calls_.push_back(std::move(call));
  ++count_;
}

std::vector<SlowCall> SlowCalls::Take() const {
  const MutexLock lock(mutex_);
  return {calls_.rbegin(), calls_.rend()};
}

int64_t SlowCalls::count() const {
  const MutexLock lock(mutex_);
  return count_;
}

}  // namespace halograph::server
