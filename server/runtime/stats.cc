#include "server/runtime/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halograph::server {
namespace {

constexpr double kFirstUpper = 1e-5;

std::array<double, LatencyHistogram::kBuckets> MakeUppers() {
  std::array<double, LatencyHistogram::kBuckets> uppers{};
  for (size_t i = 0; i < uppers.size(); ++i) {
    uppers[i] = kFirstUpper * std::exp2(static_cast<double>(i) / 2);
  }
  uppers.back() = std::numeric_limits<double>::infinity();
  return uppers;
}

const std::array<double, LatencyHistogram::kBuckets>& Uppers() {
  static const std::array<double, LatencyHistogram::kBuckets> uppers = MakeUppers();
  return uppers;
}

double Seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

}  // namespace

double LatencyHistogram::Upper(size_t bucket) { return Uppers()[bucket]; }

void LatencyHistogram::Add(std::chrono::nanoseconds latency) {
  const int64_t ns = std::max<int64_t>(0, latency.count());
  const auto& uppers = Uppers();
  const auto bucket = std::lower_bound(uppers.begin(), uppers.end(), Seconds(ns)) - uppers.begin();
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  int64_t longest = longest_ns_.load(std::memory_order_relaxed);
  while (ns > longest &&
         !longest_ns_.compare_exchange_weak(longest, ns, std::memory_order_relaxed)) {
  }
}

LatencyHistogram::Snapshot LatencyHistogram::Take() const {
  Snapshot snapshot;
  for (size_t i = 0; i < kBuckets; ++i) {
    snapshot.counts[i] = counts_[i].load(std::memory_order_relaxed);
  }
  snapshot.longest_seconds = Seconds(longest_ns_.load(std::memory_order_relaxed));
  return snapshot;
}

double LatencyHistogram::Snapshot::Quantile(double quantile) const {
  int64_t total = 0;
  for (const int64_t count : counts) total += count;
  if (total == 0) return 0;
  const auto rank = static_cast<int64_t>(std::ceil(quantile * static_cast<double>(total)));
  int64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts[i];
    if (seen >= rank) return std::min(Upper(i), longest_seconds);
  }
  return longest_seconds;
}

LatencyHistogram::Snapshot LatencyHistogram::Snapshot::Since(const Snapshot& earlier) const {
  Snapshot since = *this;
  for (size_t i = 0; i < kBuckets; ++i) since.counts[i] -= earlier.counts[i];
  return since;
}

void MethodStats::End(bool ok, int64_t request_bytes, int64_t reply_bytes,
                      std::chrono::nanoseconds latency) {
  latency_.Add(latency);
  request_bytes_.fetch_add(request_bytes, std::memory_order_relaxed);
  reply_bytes_.fetch_add(reply_bytes, std::memory_order_relaxed);
  if (!ok) errors_.fetch_add(1, std::memory_order_relaxed);
  calls_.fetch_add(1, std::memory_order_relaxed);
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
}

MethodStats::Snapshot MethodStats::Take() const {
  Snapshot snapshot;
  snapshot.calls = calls_.load(std::memory_order_relaxed);
  snapshot.errors = errors_.load(std::memory_order_relaxed);
  snapshot.in_flight = in_flight_.load(std::memory_order_relaxed);
  snapshot.request_bytes = request_bytes_.load(std::memory_order_relaxed);
  snapshot.reply_bytes = reply_bytes_.load(std::memory_order_relaxed);
  snapshot.latency = latency_.Take();
  return snapshot;
}

MethodStats::Snapshot MethodStats::Snapshot::Since(const Snapshot& earlier) const {
  return {.calls = calls - earlier.calls,
          .errors = errors - earlier.errors,
          .in_flight = in_flight,
          .request_bytes = request_bytes - earlier.request_bytes,
          .reply_bytes = reply_bytes - earlier.reply_bytes,
          .latency = latency.Since(earlier.latency)};
}

double ServerStats::UptimeSeconds() const { return since_start_.Seconds(); }

MethodSnapshots ServerStats::Take() const {
  MethodSnapshots snapshots;
  for (size_t m = 0; m < kNumMethods; ++m) snapshots[m] = methods_[m].Take();
  return snapshots;
}

void ServerStats::Mark(Clock::time_point now) {
  const MutexLock lock(mutex_);
  if (now - marks_.back().when < kMarkEvery) return;
  marks_.push_back({now, Take()});
  while (marks_.size() > 1 && now - marks_[1].when >= kRecent) marks_.pop_front();
}

ServerStats::Recently ServerStats::Recent(Clock::time_point now) const {
  Recently recent;
  recent.methods = Take();
  const MutexLock lock(mutex_);
  const Marked& since = marks_.front();
  recent.seconds = std::chrono::duration<double>(now - since.when).count();
  for (size_t m = 0; m < kNumMethods; ++m) {
    recent.methods[m] = recent.methods[m].Since(since.methods[m]);
  }
  return recent;
}

}  // namespace halograph::server
