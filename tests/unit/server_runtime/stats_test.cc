#include "server/runtime/stats.h"

#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace halograph::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class StatsTest : public testing::Test {
 protected:
  void Call(Method method, std::string_view status, std::chrono::nanoseconds latency) {
    calls_.Begin(method);
    calls_.End(method, status, 10, 100, latency);
  }

  MetricRegistry metrics_;
  CallMetrics calls_{&metrics_};
};

TEST_F(StatsTest, CallsOfAllStatusesAndThreadsAddUp) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 1000;
  std::latch together(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, &together] {
      together.arrive_and_wait();
      for (int i = 0; i < kCalls; ++i) {
        const bool fails = i % 4 == 0;
        Call(Method::kPull, fails ? (i % 8 == 0 ? "UNAVAILABLE" : "NOT_FOUND") : "OK",
             microseconds(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  calls_.Begin(Method::kPull);
  const MethodSnapshot pull = calls_.Take(Method::kPull);
  EXPECT_EQ(pull.calls(), kThreads * kCalls);
  EXPECT_EQ(pull.errors, kThreads * kCalls / 4);
  EXPECT_EQ(pull.in_flight, 1);
  EXPECT_EQ(pull.request_bytes, kThreads * kCalls * 10);
  EXPECT_EQ(pull.reply_bytes, kThreads * kCalls * 100);
  EXPECT_EQ(calls_.Take(Method::kSample).calls(), 0);
}

TEST_F(StatsTest, PercentilesAreThoseOfTheMetrics) {
  for (int i = 0; i < 980; ++i) Call(Method::kPull, "OK", microseconds(500));
  for (int i = 0; i < 20; ++i) Call(Method::kPull, "INTERNAL", milliseconds(80));
  const HistogramSnapshot latency = calls_.Take(Method::kPull).seconds;
  const HistogramSnapshot told = metrics_.Take().Histogram(
      "grpc_server_call_duration_seconds", {{"grpc_method", "halograph.v1.KVService/Pull"}});
  EXPECT_EQ(latency.counts, told.counts);
  EXPECT_GT(latency.Quantile(0.5), 3e-4);
  EXPECT_LE(latency.Quantile(0.5), 6e-4);
  EXPECT_GT(latency.Quantile(0.99), 0.065);
  EXPECT_LE(latency.Quantile(0.99), 0.08);
}

TEST_F(StatsTest, RecentIsTheLastMinute) {
  ServerStats stats(&calls_);
  const auto start = ServerStats::Clock::now();
  const auto recently = [&](int second) {
    return stats.Recent(start + std::chrono::seconds(second), stats.Take());
  };
  Call(Method::kPull, "NOT_FOUND", std::chrono::seconds(1));
  const auto pull = static_cast<size_t>(Method::kPull);
  EXPECT_EQ(recently(3).methods[pull].calls(), 1);
  EXPECT_EQ(recently(3).methods[pull].errors, 1);
  for (int second = 0; second <= 70; ++second) {
    stats.Mark(start + std::chrono::seconds(second));
    if (second == 40) Call(Method::kPull, "OK", milliseconds(1));
  }
  const auto recent = recently(71);
  EXPECT_GE(recent.seconds, 60);
  EXPECT_LE(recent.seconds, 66.1);
  EXPECT_EQ(recent.methods[pull].calls(), 1) << "the first is older";
  EXPECT_EQ(recent.methods[pull].errors, 0);
  EXPECT_EQ(recent.methods[pull].request_bytes, 10);
  EXPECT_EQ(recent.methods[pull].reply_bytes, 100);
  EXPECT_LE(recent.methods[pull].seconds.Quantile(0.99), 0.001);
  EXPECT_EQ(stats.Take()[pull].calls(), 2);
}

}  // namespace
}  // namespace halograph::server
