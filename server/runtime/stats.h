// What a server counts for each method: calls, errors, bytes and latency. Thread-safe; calls are
// counted without locks. In a snapshot that is taken while calls run, each figure is right, but
// figures may be of slightly different moments.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "common/base/mutex.h"
#include "common/base/stopwatch.h"
#include "proto/methods/methods.h"

namespace halograph::server {

// Counts of durations in buckets (upper of the one before, own upper], in seconds. Uppers grow by
// the square root of 2 from 10 microseconds to about two minutes; a last bucket has no end.
class LatencyHistogram {
 public:
  static constexpr size_t kBuckets = 49;
  // Infinity for the last.
  [[nodiscard]] static double Upper(size_t bucket);

  void Add(std::chrono::nanoseconds latency);

  struct Snapshot {
    std::array<int64_t, kBuckets> counts{};
    double longest_seconds = 0;

    // The upper bound of the bucket in which the `quantile` (in (0, 1]) of the calls lies, but not
    // more than the longest seen; 0 if there are none.
    [[nodiscard]] double Quantile(double quantile) const;
    // Without the calls of an earlier snapshot; longest_seconds stays, as an upper bound.
    [[nodiscard]] Snapshot Since(const Snapshot& earlier) const;
  };
  [[nodiscard]] Snapshot Take() const;

 private:
  std::array<std::atomic<int64_t>, kBuckets> counts_{};
  std::atomic<int64_t> longest_ns_{0};
};

class MethodStats {
 public:
  void Begin() { in_flight_.fetch_add(1, std::memory_order_relaxed); }
  // Once for each Begin.
  void End(bool ok, int64_t request_bytes, int64_t reply_bytes, std::chrono::nanoseconds latency);

  struct Snapshot {
    int64_t calls = 0;   // finished
    int64_t errors = 0;  // of these, not OK
    int64_t in_flight = 0;
    int64_t request_bytes = 0;
    int64_t reply_bytes = 0;
    LatencyHistogram::Snapshot latency;

    // What came since an earlier snapshot; in_flight as it is now.
    [[nodiscard]] Snapshot Since(const Snapshot& earlier) const;
  };
  [[nodiscard]] Snapshot Take() const;

 private:
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> errors_{0};
  std::atomic<int64_t> in_flight_{0};
  std::atomic<int64_t> request_bytes_{0};
  std::atomic<int64_t> reply_bytes_{0};
  LatencyHistogram latency_;
};

// In the order of Method.
using MethodSnapshots = std::array<MethodStats::Snapshot, kNumMethods>;

class ServerStats {
 public:
  using Clock = std::chrono::steady_clock;

  // How far back Recent looks, and how often Mark must be called for that.
  static constexpr std::chrono::seconds kRecent{60};
  static constexpr std::chrono::seconds kMarkEvery{5};

  ServerStats() { marks_.push_back({Clock::now(), {}}); }

  [[nodiscard]] MethodStats& Of(Method method) { return methods_[static_cast<size_t>(method)]; }
  [[nodiscard]] const MethodStats& Of(Method method) const {
    return methods_[static_cast<size_t>(method)];
  }
  [[nodiscard]] double UptimeSeconds() const;
  // A call that another server was asked before.
  void CountFailover() { failovers_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] int64_t failovers() const { return failovers_.load(std::memory_order_relaxed); }

  [[nodiscard]] MethodSnapshots Take() const;
  // Remembers how things stand, if the last time was kMarkEvery ago.
  void Mark(Clock::time_point now);
  struct Recently {
    double seconds = 0;  // kRecent to kRecent + kMarkEvery, or since the start
    MethodSnapshots methods;
  };
  [[nodiscard]] Recently Recent(Clock::time_point now) const;

 private:
  struct Marked {
    Clock::time_point when;
    MethodSnapshots methods;
  };

  const Stopwatch since_start_{};
  std::array<MethodStats, kNumMethods> methods_;
  std::atomic<int64_t> failovers_{0};
  mutable Mutex mutex_;
  std::deque<Marked> marks_ HG_GUARDED_BY(mutex_);  // the oldest first; at least one
};

}  // namespace halograph::server
