// What a server tells of its calls, as CallMetrics counts them: since its start, and of the last
// minute. Thread-safe. In a snapshot that is taken while calls run, each figure is right, but
// figures may be of slightly different moments.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>

#include "common/base/mutex.h"
#include "common/base/stopwatch.h"
#include "proto/methods/methods.h"
#include "server/runtime/call_metrics.h"

namespace halograph::server {

// In the order of Method.
using MethodSnapshots = std::array<MethodSnapshot, kNumMethods>;

class ServerStats {
 public:
  using Clock = std::chrono::steady_clock;

  // How far back Recent looks, and how often Mark must be called for that.
  static constexpr std::chrono::seconds kRecent{60};
  static constexpr std::chrono::seconds kMarkEvery{5};

  // `calls` outlives it.
  explicit ServerStats(const CallMetrics* calls) : calls_(*calls) {
    marks_.push_back({Clock::now(), {}});
  }

  [[nodiscard]] double UptimeSeconds() const;
  // A call that another server was asked before.
  void CountFailover() { failovers_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] int64_t failovers() const { return failovers_.load(std::memory_order_relaxed); }

  // Since the start.
  [[nodiscard]] MethodSnapshots Take() const;
  // Remembers how things stand, if the last time was kMarkEvery ago.
  void Mark(Clock::time_point now);
  struct Recently {
    double seconds = 0;  // kRecent to kRecent + kMarkEvery, or since the start
    MethodSnapshots methods;
  };
  // Of the last minute, where Take has just given `methods`.
  [[nodiscard]] Recently Recent(Clock::time_point now, const MethodSnapshots& methods) const;

 private:
  struct Marked {
    Clock::time_point when;
    MethodSnapshots methods;
  };

  const CallMetrics& calls_;
  const Stopwatch since_start_{};
  std::atomic<int64_t> failovers_{0};
  mutable Mutex mutex_;
  std::deque<Marked> marks_ HG_GUARDED_BY(mutex_);  // the oldest first; at least one
};

}  // namespace halograph::server
