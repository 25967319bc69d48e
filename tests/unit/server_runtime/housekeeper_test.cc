#include "server/runtime/housekeeper.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "server/runtime/memory_trimmer.h"

namespace halograph::server {
namespace {

TEST(HousekeeperTest, RunsWhenWokenAndEnds) {
  std::atomic<int> rounds = 0;
  {
    Housekeeper keeper([&] {
      ++rounds;
      return std::chrono::hours(1);
    });
    while (rounds < 1) std::this_thread::yield();
    keeper.Wake();
    while (rounds < 2) std::this_thread::yield();
  }
  EXPECT_EQ(rounds, 2);
}

TEST(HousekeeperTest, RunsAgainAfterItsPause) {
  std::atomic<int> rounds = 0;
  const Housekeeper keeper([&] {
    ++rounds;
    return std::chrono::milliseconds(1);
  });
  while (rounds < 5) std::this_thread::yield();
}

TEST(MemoryTrimmerTest, AnIdleServerKeepsNoBuffers) {
  const auto pool = BufferPool::Create(64 << 20);
  ASSERT_TRUE(pool->Acquire(20 << 20, "a").ok());
  EXPECT_GT(pool->usage().kept_bytes, 0);
  MemoryTrimmer trimmer;
  const auto now = MemoryTrimmer::Clock::now();
  trimmer.Trim(now, true, *pool);
  EXPECT_GT(pool->usage().kept_bytes, 0) << "too early";
  trimmer.Trim(now + MemoryTrimmer::kEvery, false, *pool);
  EXPECT_GT(pool->usage().kept_bytes, 0) << "calls are in flight";
  trimmer.Trim(now + 2 * MemoryTrimmer::kEvery, true, *pool);
  EXPECT_EQ(pool->usage().kept_bytes, 0);
}

}  // namespace
}  // namespace halograph::server
