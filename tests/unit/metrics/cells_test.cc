#include "common/metrics/cells.h"

#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

#include "common/metrics/registry.h"

namespace halograph {
namespace {

Counter* AddCalls(MetricRegistry* metrics) {
  return metrics->AddCounter({"halograph_calls_total", MetricUnit::kNone, "Calls"});
}
Histogram* AddTimes(MetricRegistry* metrics) {
  return metrics->AddHistogram({"halograph_call_seconds", MetricUnit::kSeconds, "Times"},
                               LatencyBounds());
}

TEST(MetricCellsTest, CountsOfManyThreadsAddUpWhileOthersRead) {
  MetricRegistry metrics;
  Counter* const calls = AddCalls(&metrics);
  Histogram* const times = AddTimes(&metrics);
  constexpr int kThreads = 4;
  constexpr int kCalls = 5000;
  std::latch together(kThreads + 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      together.arrive_and_wait();
      for (int i = 0; i < kCalls; ++i) {
        calls->Add();
        times->Observe(std::chrono::microseconds(i));
      }
    });
  }
  together.arrive_and_wait();
  double last = 0;
  for (int i = 0; i < 100; ++i) {
    const MetricsSnapshot now = metrics.Take();
    EXPECT_GE(now.Value("halograph_calls_total"), last);
    last = now.Value("halograph_calls_total");
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls->Value(), kThreads * kCalls);
  const HistogramSnapshot taken = times->Take();
  EXPECT_EQ(taken.count, kThreads * kCalls);
  EXPECT_NEAR(taken.sum, kThreads * 1e-6 * kCalls * (kCalls - 1) / 2, 1e-9);
}

TEST(MetricCellsTest, ThreadsThatEndedAreCountedAndLeaveNoShard) {
  MetricRegistry metrics;
  Counter* const calls = AddCalls(&metrics);
  Histogram* const times = AddTimes(&metrics);
  calls->Add();
  const size_t before = metric_cells::LivingShards();
  for (int t = 0; t < 100; ++t) {
    std::thread([&] {
      calls->Add(2);
      times->Observe(0.5);
      EXPECT_EQ(metric_cells::LivingShards(), before + 1);
    }).join();
    ASSERT_EQ(metric_cells::LivingShards(), before);
  }
  EXPECT_EQ(calls->Value(), 201);
  EXPECT_EQ(times->Take().count, 100);
  EXPECT_DOUBLE_EQ(times->Take().sum, 50);
}

// Counts at the end of its thread, after the variables that counted before.
struct CountsAtTheEnd {
  ~CountsAtTheEnd() {
    if (calls != nullptr) calls->Add(10);
  }
  Counter* calls = nullptr;
};
thread_local CountsAtTheEnd at_the_end;

TEST(MetricCellsTest, WhatEndsWithAThreadIsCounted) {
  MetricRegistry metrics;
  Counter* const calls = AddCalls(&metrics);
  const size_t before = metric_cells::LivingShards();
  std::thread([calls] {
    at_the_end.calls = calls;
    calls->Add();
  }).join();
  std::thread([calls] { at_the_end.calls = calls; }).join();
  EXPECT_EQ(calls->Value(), 21);
  EXPECT_EQ(metric_cells::LivingShards(), before);
}

// Called after the cells' own key, which is older, in the order of glibc.
void CountInDestructor(void* calls) { static_cast<Counter*>(calls)->Add(10); }

TEST(MetricCellsTest, WhatEndsAfterTheCellsOfItsThreadIsCounted) {
  MetricRegistry metrics;
  Counter* const calls = AddCalls(&metrics);
  calls->Add();
  const size_t before = metric_cells::LivingShards();
  pthread_key_t key{};
  ASSERT_EQ(::pthread_key_create(&key, CountInDestructor), 0);
  std::thread([key, calls] {
    ::pthread_setspecific(key, calls);
    calls->Add();
  }).join();
  ::pthread_key_delete(key);
  EXPECT_EQ(calls->Value(), 12);
  EXPECT_EQ(metric_cells::LivingShards(), before);
}

TEST(MetricCellsTest, ARegistryThatEndsGivesItsCellsBackAsZeros) {
  const size_t before = metric_cells::ChunksInUse();
  for (int i = 0; i < 3; ++i) {
    MetricRegistry metrics;
    Histogram* const times = AddTimes(&metrics);
    Counter* const calls = AddCalls(&metrics);
    EXPECT_EQ(metric_cells::ChunksInUse(), before + 1);
    EXPECT_EQ(calls->Value(), 0);
    EXPECT_EQ(times->Take().count, 0);
    EXPECT_EQ(times->Take().sum, 0);
    calls->Add(5);
    times->Observe(1.5);
    std::thread([&] { calls->Add(7); }).join();
    EXPECT_EQ(calls->Value(), 12);
  }
  EXPECT_EQ(metric_cells::ChunksInUse(), before);
}

TEST(MetricCellsTest, RegistriesDoNotMix) {
  MetricRegistry one;
  MetricRegistry two;
  Counter* const of_one = AddCalls(&one);
  Counter* const of_two = AddCalls(&two);
  of_one->Add(1);
  of_two->Add(2);
  EXPECT_EQ(one.Take().Value("halograph_calls_total"), 1);
  EXPECT_EQ(two.Take().Value("halograph_calls_total"), 2);
}

TEST(MetricCellsTest, WithoutFreeCellsHandlesWorkAndStatusTells) {
  auto others = std::make_unique<metric_cells::CellSpace>();
  std::vector<uint32_t> slots;
  while (const auto slot = others->Allocate(metric_cells::kChunkCells, false))
    slots.push_back(*slot);
  MetricRegistry metrics;
  AddCalls(&metrics)->Add();
  AddTimes(&metrics)->Observe(0.5);
  EXPECT_EQ(metrics.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(Message(metrics.status()).find("halograph_calls_total"), std::string::npos);
  for (const uint32_t slot : slots) {  // nothing was counted in the cells of others
    std::vector<int64_t> sums(metric_cells::kChunkCells);
    metric_cells::Sum(slot, sums);
    ASSERT_EQ(sums, std::vector<int64_t>(metric_cells::kChunkCells, 0));
  }
  others.reset();
  MetricRegistry again;
  AddCalls(&again)->Add();
  EXPECT_TRUE(again.status().ok());
  EXPECT_EQ(again.Take().Value("halograph_calls_total"), 1);
}

}  // namespace
}  // namespace halograph
