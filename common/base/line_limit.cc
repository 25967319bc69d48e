#include "common/base/line_limit.h"

#include <utility>

namespace halograph {

bool LineLimit::Allow(int64_t* left_out, Clock::time_point now) {
  const MutexLock lock(mutex_);
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    lines_ = 0;
  }
  if (++lines_ > most_) {
    ++left_out_;
    return false;
  }
  const int64_t left = std::exchange(left_out_, 0);
  if (left_out != nullptr) *left_out = left;
  return true;
}

}  // namespace halograph
