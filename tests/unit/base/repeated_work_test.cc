#include "common/base/repeated_work.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace halograph {
namespace {

TEST(RepeatedWorkTest, RunsWhenWokenAndEnds) {
  std::atomic<int> rounds = 0;
  {
    RepeatedWork work("test", std::chrono::seconds(0), [&] {
      ++rounds;
      return std::chrono::hours(1);
    });
    while (rounds < 1) std::this_thread::yield();
    work.Wake();
    while (rounds < 2) std::this_thread::yield();
  }
  EXPECT_EQ(rounds, 2);
}

TEST(RepeatedWorkTest, RunsAgainAfterItsPause) {
  std::atomic<int> rounds = 0;
  const RepeatedWork work("test", std::chrono::seconds(0), [&] {
    ++rounds;
    return std::chrono::milliseconds(1);
  });
  while (rounds < 5) std::this_thread::yield();
}

TEST(RepeatedWorkTest, TheFirstRoundWaitsTooAndIsWoken) {
  std::atomic<int> rounds = 0;
  for (int i = 0; i < 100; ++i) {
    const RepeatedWork none("test", std::chrono::hours(1), [&] {
      ++rounds;
      return std::chrono::hours(1);
    });
  }
  EXPECT_EQ(rounds, 0);
  RepeatedWork work("test", std::chrono::hours(1), [&] {
    ++rounds;
    return std::chrono::hours(1);
  });
  work.Wake();
  while (rounds < 1) std::this_thread::yield();
}

}  // namespace
}  // namespace halograph
