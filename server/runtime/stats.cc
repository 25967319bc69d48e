#include "server/runtime/stats.h"

namespace halograph::server {

double ServerStats::UptimeSeconds() const { return since_start_.Seconds(); }

MethodSnapshots ServerStats::Take() const {
  MethodSnapshots snapshots;
  for (size_t m = 0; m < kNumMethods; ++m) snapshots[m] = calls_.Take(static_cast<Method>(m));
  return snapshots;
}

void ServerStats::Mark(Clock::time_point now) {
  const MutexLock lock(mutex_);
  if (now - marks_.back().when < kMarkEvery) return;
  marks_.push_back({now, Take()});
  while (marks_.size() > 1 && now - marks_[1].when >= kRecent) marks_.pop_front();
}

ServerStats::Recently ServerStats::Recent(Clock::time_point now,
                                          const MethodSnapshots& methods) const {
  Recently recent;
  const MutexLock lock(mutex_);
  const Marked& since = marks_.front();
  recent.seconds = std::chrono::duration<double>(now - since.when).count();
  for (size_t m = 0; m < kNumMethods; ++m) {
    recent.methods[m] = methods[m].Since(since.methods[m]);
  }
  return recent;
}

}  // namespace halograph::server
