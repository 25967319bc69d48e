// What metrics read: once a scrape, or in the background.
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "server/runtime/background_value.h"
#include "server/runtime/shared_reading.h"

namespace halograph::server {
namespace {

TEST(SharedReadingTest, IsGatheredOnceAScrape) {
  int gathered = 0;
  SharedReading<int> reading([&gathered] { return ++gathered; },
                             [] { return std::chrono::steady_clock::time_point(); });
  const size_t first = reading.AddReader();
  const size_t second = reading.AddReader();
  const size_t third = reading.AddReader();
  for (int scrape = 1; scrape <= 3; ++scrape) {
    for (const size_t reader : {first, second, third}) EXPECT_EQ(*reading.Get(reader), scrape);
  }
  EXPECT_EQ(*reading.Get(second), 4) << "whoever is first in a scrape";
  EXPECT_EQ(*reading.Get(first), 4);
}

// After two scrapes that overlapped, a reader may not have seen what is there: it must not get it
// in the next scrape, however late that is.
TEST(SharedReadingTest, NobodyGetsWhatIsOld) {
  int gathered = 0;
  SharedReading<int>::Clock::time_point now;
  SharedReading<int> reading([&gathered] { return ++gathered; }, [&now] { return now; });
  const size_t first = reading.AddReader();
  const size_t second = reading.AddReader();
  for (const size_t reader : {first, first, second, second}) EXPECT_GT(*reading.Get(reader), 0);
  now += std::chrono::seconds(5);
  const int fresh = *reading.Get(first);
  EXPECT_EQ(fresh, gathered);
  EXPECT_EQ(fresh, 4);
  EXPECT_EQ(*reading.Get(second), 4);
}

TEST(SharedReadingTest, WhatWasGivenStays) {
  SharedReading<int> reading([n = 0]() mutable { return ++n; });
  const size_t reader = reading.AddReader();
  const auto kept = reading.Get(reader);
  EXPECT_EQ(*reading.Get(reader), 2);
  EXPECT_EQ(*kept, 1);
}

// Waits for one.
int Await(BackgroundValue<int>* value, int at_least) {
  for (;;) {
    const auto last = value->Last();
    if (last != nullptr && *last >= at_least) return *last;
    std::this_thread::yield();
  }
}

TEST(BackgroundValueTest, WhoAsksDoesNotWait) {
  std::promise<void> go_on;
  BackgroundValue<int> value(
      [&go_on](const CancelToken&) {
        go_on.get_future().wait();
        return 7;
      },
      std::chrono::hours(1));
  EXPECT_EQ(value.Last(), nullptr) << "the first reading has not ended";
  go_on.set_value();
  EXPECT_EQ(Await(&value, 7), 7);
}

TEST(BackgroundValueTest, IsReadAgainIfSomebodyAsksButNotWithinThePause) {
  std::atomic<int> reads = 0;
  const auto read = [&reads](const CancelToken&) { return ++reads; };
  BackgroundValue<int> often(read, std::chrono::nanoseconds(0));
  EXPECT_GE(Await(&often, 3), 3);

  std::atomic<int> rare_reads = 0;
  BackgroundValue<int> rarely([&rare_reads](const CancelToken&) { return ++rare_reads; },
                              std::chrono::hours(1));
  EXPECT_EQ(Await(&rarely, 1), 1);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(*rarely.Last(), 1);
  EXPECT_EQ(rare_reads, 1);
}

TEST(BackgroundValueTest, ItsEndEndsAReading) {
  std::promise<void> reads;
  auto value = std::make_unique<BackgroundValue<int>>(
      [&reads](const CancelToken& ending) {
        reads.set_value();
        while (!ending.cancelled()) std::this_thread::yield();
        return 0;
      },
      std::chrono::hours(1));
  EXPECT_EQ(value->Last(), nullptr);
  reads.get_future().wait();
  value.reset();
}

// A disk that hangs must not keep the server from its end. What the reading has is its own.
TEST(BackgroundValueTest, AReadingThatHangsIsLeftBehind) {
  const auto go_on = std::make_shared<std::promise<void>>();
  const auto over = std::make_shared<std::promise<void>>();
  auto value = std::make_unique<BackgroundValue<int>>(
      [go_on, over](const CancelToken&) {
        go_on->get_future().wait();
        over->set_value();
        return 0;
      },
      std::chrono::hours(1));
  EXPECT_EQ(value->Last(), nullptr);
  value.reset();
  go_on->set_value();
  over->get_future().wait();
}

}  // namespace
}  // namespace halograph::server
