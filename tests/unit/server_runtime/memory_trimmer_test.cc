#include "server/runtime/memory_trimmer.h"

#include <gtest/gtest.h>

namespace halograph::server {
namespace {

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
