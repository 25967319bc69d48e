#include "server/runtime/buffer_pool.h"

#include <cstring>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace halograph::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(BufferPoolTest, GivesAlignedRoomAndReusesIt) {
  const auto pool = BufferPool::Create(1 << 20, milliseconds(0));
  const std::byte* first = nullptr;
  {
    const auto buffer = pool->Acquire(100000);
    ASSERT_TRUE(buffer.ok());
    EXPECT_GE(buffer->capacity(), 100000U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0U);
    std::memset(buffer->data(), 1, buffer->capacity());
    first = buffer->data();
    EXPECT_EQ(pool->usage().in_use_bytes, static_cast<int64_t>(buffer->capacity()));
  }
  EXPECT_EQ(pool->usage().in_use_bytes, 0);
  EXPECT_GT(pool->usage().kept_bytes, 0);
  EXPECT_EQ(pool->Acquire(100000)->data(), first);
}

TEST(BufferPoolTest, FullPoolIsUnavailableAndTooLargeIsResourceExhausted) {
  const auto pool = BufferPool::Create(390 << 10, milliseconds(1));
  EXPECT_TRUE(absl::IsResourceExhausted(pool->Acquire(1 << 20).status()));
  auto held = pool->Acquire(120 << 10);
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(absl::IsUnavailable(pool->Acquire(200 << 10).status()));
  EXPECT_TRUE(pool->Acquire(16 << 10).ok());
}

TEST(BufferPoolTest, WaitsForABufferThatComesBack) {
  const auto pool = BufferPool::Create(100 << 10, seconds(60));
  auto held = std::make_optional(pool->Acquire(40 << 10));
  ASSERT_TRUE(held->ok());
  std::thread giver([&] { held.reset(); });
  EXPECT_TRUE(pool->Acquire(40 << 10).ok());
  giver.join();
}

TEST(BufferPoolTest, KeptBuffersGiveWayToOtherSizes) {
  const auto pool = BufferPool::Create(300 << 10, milliseconds(0));
  {
    std::vector<PooledBuffer> small;
    for (int i = 0; i < 15; ++i) small.push_back(pool->Acquire(10 << 10).value());
  }
  EXPECT_EQ(pool->usage().kept_bytes, 15 * (16 << 10));
  EXPECT_TRUE(pool->Acquire(250 << 10).ok());
  EXPECT_LE(pool->usage().kept_bytes + pool->usage().in_use_bytes, 300 << 10);
}

TEST(BufferPoolTest, BufferOutlivesTheOwnersOfThePool) {
  auto pool = BufferPool::Create(1 << 20, milliseconds(0));
  PooledBuffer buffer = pool->Acquire(1000).value();
  pool.reset();
  std::memset(buffer.data(), 7, buffer.capacity());
  buffer = PooledBuffer();  // gives back to the pool, which goes with it
  EXPECT_EQ(buffer.data(), nullptr);
}

TEST(BufferPoolTest, StaysWithinItsBoundUnderManyThreads) {
  const auto pool = BufferPool::Create(1 << 20, seconds(60));
  std::latch together(4);  // short threads would else run one after the other
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, &together, t] {
      together.arrive_and_wait();
      for (int i = 0; i < 2000; ++i) {
        const size_t bytes = static_cast<size_t>(1 + (i * 7919 + t) % 200) << 10;
        auto buffer = pool->Acquire(bytes);
        ASSERT_TRUE(buffer.ok());
        std::memset(buffer->data(), t, 4096);
        const auto usage = pool->usage();
        EXPECT_LE(usage.in_use_bytes + usage.kept_bytes, 1 << 20);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool->usage().in_use_bytes, 0);
}

}  // namespace
}  // namespace halograph::server
