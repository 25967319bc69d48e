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
      ChooseOffenders(table_.Look(now, count_streams_(table_.OpenCalls())), bounds_);
  if (!offenders.empty()) {
    if (example_peer_.empty() && offenders.front().offence != Offence::kAddress) {
      example_ = offenders.front();
      example_peer_ = table_.Peer(example_.id);
    }
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
  int64_t shut = 0;
  for (const ShutReason reason : {ShutReason::kCalls, ShutReason::kBytes, ShutReason::kAddress}) {
    shut += counts.shut[static_cast<size_t>(reason)];
  }
  return shut;
}

void ConnectionGuard::Tell() {
  const int64_t shut = this->shut();
  if (shut == told_ || !lines_.Allow()) return;
  const int64_t others = table_.counts().shut[static_cast<size_t>(ShutReason::kAddress)];
  const int64_t new_others = others - std::exchange(told_others_, others);
  const std::string example =
      example_peer_.empty()
          ? ""
          : fmt::format(" ({} one of them: {} {} of {}, beyond {})", example_peer_, example_.amount,
                        OffenceText(example_.offence), example_.whose, example_.bound);
  const std::string of_addresses =
      new_others == 0
          ? ""
          : fmt::format("; and {} others of an address that went on meanwhile", new_others);
  spdlog::warn(
      "{} connections shut down that took more than they may{}: more than {} calls that do not "
      "end, or bytes that belong to no call (--unaccounted-bytes){}",
      shut - std::exchange(told_, shut) - new_others, example, bounds_.calls, of_addresses);
  example_peer_.clear();
}

}  // namespace halograph::server
