#include "server/runtime/stats.h"

#include <cmath>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace halograph::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(LatencyHistogramTest, UppersAscendAndTheLastHasNoEnd) {
  for (size_t i = 1; i < LatencyHistogram::kBuckets; ++i) {
    EXPECT_LT(LatencyHistogram::Upper(i - 1), LatencyHistogram::Upper(i));
  }
  EXPECT_TRUE(std::isinf(LatencyHistogram::Upper(LatencyHistogram::kBuckets - 1)));
  EXPECT_GT(LatencyHistogram::Upper(LatencyHistogram::kBuckets - 2), 100.0);
}

TEST(LatencyHistogramTest, QuantilesLieWithinABucketOfTheTruth) {
  LatencyHistogram histogram;
  for (int i = 0; i < 980; ++i) histogram.Add(microseconds(500));
  for (int i = 0; i < 20; ++i) histogram.Add(milliseconds(80));
  const auto snapshot = histogram.Take();
  EXPECT_GE(snapshot.Quantile(0.5), 500e-6);
  EXPECT_LE(snapshot.Quantile(0.5), 500e-6 * 1.4143);
  EXPECT_GE(snapshot.Quantile(0.99), 0.0566);
  EXPECT_LE(snapshot.Quantile(0.99), 0.08 + 1e-12);
}

TEST(LatencyHistogramTest, EmptyAndBeyondTheLastBucket) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Take().Quantile(0.5), 0.0);
  histogram.Add(std::chrono::hours(1));
  EXPECT_DOUBLE_EQ(histogram.Take().Quantile(0.99), 3600.0);
  histogram.Add(std::chrono::nanoseconds(-5));  // a clock that steps back is no crash
  EXPECT_EQ(histogram.Take().counts[0], 1);
}

TEST(MethodStatsTest, CountsFromManyThreadsAddUp) {
  ServerStats stats;
  constexpr int kThreads = 4;
  constexpr int kCalls = 1000;
  std::latch together(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&stats, &together] {
      together.arrive_and_wait();
      for (int i = 0; i < kCalls; ++i) {
        stats.Of(Method::kPull).Begin();
        stats.Of(Method::kPull).End(i % 4 != 0, 10, 100, microseconds(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stats.Of(Method::kPull).Begin();
  const auto snapshot = stats.Of(Method::kPull).Take();
  EXPECT_EQ(snapshot.calls, kThreads * kCalls);
  EXPECT_EQ(snapshot.errors, kThreads * kCalls / 4);
  EXPECT_EQ(snapshot.in_flight, 1);
  EXPECT_EQ(snapshot.request_bytes, kThreads * kCalls * 10);
  EXPECT_EQ(snapshot.reply_bytes, kThreads * kCalls * 100);
  int64_t counted = 0;
  for (const int64_t count : snapshot.latency.counts) counted += count;
  EXPECT_EQ(counted, snapshot.calls);
  EXPECT_EQ(stats.Of(Method::kSample).Take().calls, 0);
}

TEST(ServerStatsTest, RecentIsTheLastMinute) {
  ServerStats stats;
  const auto start = ServerStats::Clock::now();
  const auto call = [&](std::chrono::nanoseconds latency) {
    stats.Of(Method::kPull).Begin();
    stats.Of(Method::kPull).End(true, 1, 2, latency);
  };
  call(std::chrono::seconds(1));
  const auto pull = static_cast<size_t>(Method::kPull);
  EXPECT_EQ(stats.Recent(start + std::chrono::seconds(3)).methods[pull].calls, 1);
  for (int second = 0; second <= 70; ++second) {
    stats.Mark(start + std::chrono::seconds(second));
    if (second == 40) call(milliseconds(1));
  }
  const auto recent = stats.Recent(start + std::chrono::seconds(71));
  EXPECT_GE(recent.seconds, 60);
  EXPECT_LE(recent.seconds, 66.1);
  EXPECT_EQ(recent.methods[pull].calls, 1) << "the first is older";
  EXPECT_EQ(recent.methods[pull].reply_bytes, 2);
  EXPECT_LE(recent.methods[pull].latency.Quantile(0.99), 0.0015);
  EXPECT_EQ(stats.Take()[pull].calls, 2);
}

}  // namespace
}  // namespace halograph::server
