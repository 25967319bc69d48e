#include "client/remote/suspension_watch.h"

#include <algorithm>

namespace halograph {

namespace {

constexpr std::chrono::milliseconds kPause{250};

}  // namespace

SuspensionWatch::SuspensionWatch(std::chrono::nanoseconds timeout, Clock::time_point now)
    : pause_(std::min<std::chrono::nanoseconds>(kPause, timeout / 8)),
      gap_(timeout / 2),
      last_(now) {}

std::chrono::nanoseconds SuspensionWatch::Look(Clock::time_point now) {
  const std::chrono::nanoseconds late = now - next_look();
  last_ = now;
  return late < gap_ ? std::chrono::nanoseconds(0) : late;
}

}  // namespace halograph
