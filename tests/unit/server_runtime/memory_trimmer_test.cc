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
  trimmer.Trim(now, true, 0, *pool);
  EXPECT_GT(pool->usage().kept_bytes, 0) << "too early";
  trimmer.Trim(now + MemoryTrimmer::kEvery, false, 0, *pool);
  EXPECT_GT(pool->usage().kept_bytes, 0) << "calls are in flight";
  trimmer.Trim(now + 2 * MemoryTrimmer::kEvery, true, 0, *pool);
  EXPECT_EQ(pool->usage().kept_bytes, 0);
}

TEST(MemoryTrimmerTest, WhatShutConnectionsLeftIsGivenBackSoonAndOnce) {
  const auto pool = BufferPool::Create(64 << 20);
  ASSERT_TRUE(pool->Acquire(20 << 20, "a").ok());
  MemoryTrimmer trimmer;
  const auto now = MemoryTrimmer::Clock::now();
  trimmer.Trim(now, true, 1, *pool);
  trimmer.Trim(now + MemoryTrimmer::kSoon / 2, true, 1, *pool);
  EXPECT_GT(pool->usage().kept_bytes, 0) << "too early";
  trimmer.Trim(now + MemoryTrimmer::kSoon, true, 1, *pool);
  EXPECT_EQ(pool->usage().kept_bytes, 0);
  ASSERT_TRUE(pool->Acquire(20 << 20, "a").ok());
  trimmer.Trim(now + 3 * MemoryTrimmer::kSoon, true, 1, *pool);
  EXPECT_GT(pool->usage().kept_bytes, 0) << "none was shut since";
}

}  // namespace
}  // namespace halograph::server
