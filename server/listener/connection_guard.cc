#include "server/listener/connection_guard.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/base/log.h"

namespace halograph::server {

std::chrono::nanoseconds ConnectionGuard::Look(Clock::time_point now) {
  Tell();
  if (table_.empty()) return std::chrono::hours(1);  // the first one wakes whoever looks
  if (now < due_) return due_ - now;
  const std::chrono::nanoseconds before = thread_time_();
  const std::vector<Offender> offenders =
      ChooseOffenders(table_.Look(now, count_streams_()), bounds_);
  if (!offenders.empty()) {
    example_ = offenders.front();
    example_peer_ = table_.Peer(example_.id);
    table_.Shut(offenders);
  }
  const auto rest =
      std::max<std::chrono::nanoseconds>(kPace, kRestPerLook * (thread_time_() - before));
  due_ = now + rest;
  Tell();
  return rest;
}

int64_t ConnectionGuard::shut() const {
  const ConnectionCounts counts = table_.counts();
  return counts.shut[static_cast<size_t>(ShutReason::kCalls)] +
         counts.shut[static_cast<size_t>(ShutReason::kBytes)];
}

void ConnectionGuard::Tell() {
  const int64_t shut = this->shut();
  if (shut == told_ || !lines_.Allow()) return;
  const std::string example =
      example_peer_.empty()
          ? ""
          : fmt::format(" ({} one of them: {} {} of {}, beyond {})", example_peer_, example_.amount,
                        OffenceText(example_.offence), example_.whose, example_.bound);
  spdlog::warn(
      "{} connections shut down that took more than they may{}: more than {} calls that do not "
      "end, or bytes that belong to no call (--unaccounted-bytes)",
      shut - std::exchange(told_, shut), example, bounds_.calls);
  example_peer_.clear();
}

}  // namespace halograph::server
