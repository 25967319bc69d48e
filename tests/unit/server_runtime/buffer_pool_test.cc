#include "server/runtime/buffer_pool.h"

#include <atomic>
#include <cstring>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace halograph::server {
namespace {

using std::chrono::seconds;

TEST(BufferPoolTest, GivesAlignedRoomAndReusesIt) {
  const auto pool = BufferPool::Create(1 << 20);
  const std::byte* first = nullptr;
  {
    const auto buffer = pool->Acquire(100000, "a");
    ASSERT_TRUE(buffer.ok());
    EXPECT_GE(buffer->capacity(), 100000U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0U);
    std::memset(buffer->data(), 1, buffer->capacity());
    first = buffer->data();
    EXPECT_EQ(pool->usage().in_use_bytes, static_cast<int64_t>(buffer->capacity()));
  }
  EXPECT_EQ(pool->usage().in_use_bytes, 0);
  EXPECT_GT(pool->usage().kept_bytes, 0);
  EXPECT_EQ(pool->Acquire(100000, "a")->data(), first);
}

TEST(BufferPoolTest, FullPoolIsUnavailableAndTooLargeIsResourceExhausted) {
  const auto pool = BufferPool::Create(390 << 10);
  EXPECT_TRUE(absl::IsResourceExhausted(pool->Acquire(1 << 20, "a").status()));
  auto held = pool->Acquire(120 << 10, "a");
  ASSERT_TRUE(held.ok());
  EXPECT_TRUE(absl::IsUnavailable(pool->Acquire(200 << 10, "b").status()));
  EXPECT_TRUE(pool->Acquire(16 << 10, "b").ok());
}

TEST(BufferPoolTest, WhoWaitsGetsABufferThatComesBack) {
  const auto pool = BufferPool::Create(100 << 10);
  int wakes = 0;
  pool->OnChange([&] { ++wakes; });
  auto held = std::make_optional(pool->Acquire(40 << 10, "a"));
  ASSERT_TRUE(held->ok());
  std::optional<StatusOr<PooledBuffer>> got;
  const auto now = BufferPool::Clock::now();
  ASSERT_TRUE(pool->AcquireLater(40 << 10, "b", now + seconds(60),
                                 [&](auto buffer) { got = std::move(buffer); })
                  .ok());
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(pool->ServeWaiting(now), 1U);
  EXPECT_FALSE(got.has_value());
  held.reset();
  EXPECT_EQ(wakes, 2);
  EXPECT_EQ(pool->ServeWaiting(now), 0U);
  ASSERT_TRUE(got.has_value());
  ASSERT_TRUE(got->ok()) << got->status();
  EXPECT_GE((*got)->capacity(), size_t{40} << 10);
}

TEST(BufferPoolTest, WhoWaitsInVainIsToldWhenTheTimeIsOver) {
  const auto pool = BufferPool::Create(100 << 10);
  const auto held = pool->Acquire(40 << 10, "a");
  const auto now = BufferPool::Clock::now();
  Status told;
  ASSERT_TRUE(pool->AcquireLater(40 << 10, "b", now + seconds(1),
                                 [&](auto buffer) { told = buffer.status(); })
                  .ok());
  EXPECT_EQ(pool->ServeWaiting(now), 1U);
  EXPECT_TRUE(told.ok());
  EXPECT_EQ(pool->ServeWaiting(now + seconds(1)), 0U);
  EXPECT_TRUE(absl::IsUnavailable(told)) << told;
  EXPECT_EQ(pool->usage().peers, 1U);
}

TEST(BufferPoolTest, FewOfAPeerWaitAtATime) {
  const auto pool = BufferPool::Create(100 << 10);
  const auto held = pool->Acquire(40 << 10, "a");
  const auto later = BufferPool::Clock::now() + seconds(60);
  const auto wait = [&](const std::string& peer) {
    return pool->AcquireLater(40 << 10, peer, later, [](const auto&) {});
  };
  for (size_t i = 0; i < BufferPool::kMostWaitingOfAPeer; ++i) EXPECT_TRUE(wait("b").ok());
  EXPECT_TRUE(absl::IsUnavailable(wait("b")));
  EXPECT_TRUE(wait("c").ok());
  for (size_t i = 0; pool->usage().waiting < BufferPool::kMostWaiting; ++i) {
    ASSERT_TRUE(wait("peer " + std::to_string(i)).ok());
  }
  EXPECT_TRUE(absl::IsUnavailable(wait("d")));
}

TEST(BufferPoolTest, SmallRepliesAreChargedWhatTheyTake) {
  const auto pool = BufferPool::Create(1 << 20);
  const auto small = pool->Acquire(320, "a");
  ASSERT_TRUE(small.ok());
  EXPECT_LE(pool->usage().in_use_bytes, 1024);
}

TEST(BufferPoolTest, GreedyPeersLeaveAShareToTheOthers) {
  constexpr int64_t kBytes = 1 << 20;
  const auto pool = BufferPool::Create(kBytes);
  std::vector<PooledBuffer> held;
  constexpr int kGreedy = 20;
  std::vector<int64_t> of_peer(kGreedy, 0);
  for (bool more = true; more;) {
    more = false;
    for (int p = 0; p < kGreedy; ++p) {
      auto buffer = pool->Acquire(1000, std::to_string(p));
      if (!buffer.ok()) continue;
      of_peer[static_cast<size_t>(p)] += static_cast<int64_t>(buffer->capacity());
      held.push_back(std::move(buffer).value());
      more = true;
    }
  }
  for (const int64_t bytes : of_peer) EXPECT_NEAR(bytes, kBytes * 3 / 4 / (kGreedy + 1), 2048);
  EXPECT_TRUE(pool->Acquire(kBytes / 4 - 8192, "modest").ok());
  EXPECT_TRUE(absl::IsUnavailable(pool->Acquire(1000, "0").status()));
}

TEST(BufferPoolTest, GreedyPeersOneAfterTheOtherLeaveRoomForTheNext) {
  constexpr int64_t kBytes = 1 << 20;
  const auto pool = BufferPool::Create(kBytes);
  std::vector<PooledBuffer> held;
  for (int p = 0; p < 20; ++p) {
    for (auto buffer = pool->Acquire(1000, std::to_string(p)); buffer.ok();
         buffer = pool->Acquire(1000, std::to_string(p))) {
      held.push_back(std::move(buffer).value());
    }
  }
  EXPECT_TRUE(pool->Acquire(kBytes / 8, "modest").ok());
}

TEST(BufferPoolTest, KeptBuffersGiveWayToOtherSizes) {
  const auto pool = BufferPool::Create(300 << 10);
  {
    std::vector<PooledBuffer> small;
    for (int i = 0; i < 15; ++i) {
      small.push_back(pool->Acquire(10 << 10, "peer " + std::to_string(i)).value());
    }
  }
  EXPECT_EQ(pool->usage().kept_bytes, 15 * (16 << 10));
  EXPECT_TRUE(pool->Acquire(250 << 10, "a").ok());
  EXPECT_LE(pool->usage().kept_bytes + pool->usage().in_use_bytes, 300 << 10);
  EXPECT_EQ(pool->usage().peers, 0U);
  pool->FreeKept();
  EXPECT_EQ(pool->usage().kept_bytes, 0);
}

TEST(BufferPoolTest, BufferOutlivesTheOwnersOfThePool) {
  auto pool = BufferPool::Create(1 << 20);
  PooledBuffer buffer = pool->Acquire(1000, "a").value();
  pool.reset();
  std::memset(buffer.data(), 7, buffer.capacity());
  buffer = PooledBuffer();  // gives back to the pool, which goes with it
  EXPECT_EQ(buffer.data(), nullptr);
}

TEST(BufferPoolTest, StaysWithinItsBoundUnderManyThreads) {
  const auto pool = BufferPool::Create(1 << 20);
  std::latch together(4);  // short threads would else run one after the other
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, &together, t] {
      together.arrive_and_wait();
      for (int i = 0; i < 2000; ++i) {
        const size_t bytes = static_cast<size_t>(1 + (i * 7919 + t) % 200) << 10;
        auto buffer = pool->Acquire(bytes, std::to_string(t));
        while (!buffer.ok()) {
          ASSERT_TRUE(absl::IsUnavailable(buffer.status()));
          std::this_thread::yield();
          buffer = pool->Acquire(bytes, std::to_string(t));
        }
        std::memset(buffer->data(), t, 1024);
        const auto usage = pool->usage();
        EXPECT_LE(usage.in_use_bytes + usage.kept_bytes, 1 << 20);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool->usage().in_use_bytes, 0);
}

// As the server does it: callers go on when a thread of the pool's owner calls them.
TEST(BufferPoolTest, EveryoneWhoWaitsIsAnsweredOnce) {
  const auto pool = BufferPool::Create(1 << 20);
  std::atomic<int> answered = 0;
  std::atomic<int> waited = 0;
  std::atomic<bool> done = false;
  std::thread server([&] {
    while (!done || pool->usage().waiting > 0) pool->ServeWaiting(BufferPool::Clock::now());
  });
  std::latch together(3);
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t) {
    callers.emplace_back([&, t] {
      together.arrive_and_wait();
      const std::string peer = std::to_string(t);
      std::vector<PooledBuffer> held;
      for (int i = 0; i < 1000; ++i) {
        if (i % 10 == 0) held.clear();
        auto buffer = pool->Acquire(60 << 10, peer);
        if (buffer.ok()) {
          held.push_back(std::move(buffer).value());
          continue;
        }
        const auto give_up = BufferPool::Clock::now() + std::chrono::milliseconds(5);
        const Status waits = pool->AcquireLater(60 << 10, peer, give_up, [&](const auto& got) {
          EXPECT_TRUE(got.ok() || absl::IsUnavailable(got.status()));
          ++answered;
        });
        waited += waits.ok() ? 1 : 0;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  done = true;
  server.join();
  EXPECT_EQ(answered, waited);
  EXPECT_GT(waited, 0);
  EXPECT_EQ(pool->usage().in_use_bytes, 0);
  EXPECT_EQ(pool->usage().peers, 0U);
}

}  // namespace
}  // namespace halograph::server
