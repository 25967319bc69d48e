#include "server/listener/connection_guard.h"

#include <utility>
#include <vector>

#include "common/base/log.h"

namespace halograph::server {
namespace {

constexpr std::chrono::seconds kTellPause{1};

}  // namespace

void ConnectionGuard::Look(Clock::time_point now) {
  const std::vector<Offender> offenders = ChooseOffenders(table_.Look(now), bounds_);
  if (!offenders.empty()) {
    untold_ += table_.Shut(offenders);
    example_ = offenders.front();
  }
  if (untold_ == 0 || now - told_ < kTellPause) return;
  told_ = now;
  const int64_t bound = example_.offence == Offence::kCalls ? bounds_.calls : bounds_.bytes;
  spdlog::warn(
      "{} connections shut down that took more than they may; one of them, or its address, had {} "
      "{}, beyond {}",
      std::exchange(untold_, 0), example_.amount, OffenceText(example_.offence), bound);
}

}  // namespace halograph::server
