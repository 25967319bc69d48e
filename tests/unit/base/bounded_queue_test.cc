#include "common/base/bounded_queue.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace halograph {
namespace {

TEST(BoundedQueueTest, ItemsComeOutInOrder) {
  BoundedQueue<int> queue(3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.Push(i));
  EXPECT_EQ(queue.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.Pop(), i);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(BoundedQueueTest, TryPushLeavesTheItemWhenFullOrClosed) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  auto first = std::make_unique<int>(1);
  auto second = std::make_unique<int>(2);
  EXPECT_TRUE(queue.TryPush(first));
  EXPECT_EQ(first, nullptr);
  EXPECT_FALSE(queue.TryPush(second));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(**queue.Pop(), 1);
  queue.Close();
  EXPECT_FALSE(queue.TryPush(second));
  EXPECT_NE(second, nullptr);
}

TEST(BoundedQueueTest, PushWaitsForRoom) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.Push(1));
  std::thread pusher([&] { EXPECT_TRUE(queue.Push(2)); });
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), 2);
  pusher.join();
}

TEST(BoundedQueueTest, CloseEndsWaitingPushAndPop) {
  BoundedQueue<int> full(1);
  ASSERT_TRUE(full.Push(1));
  BoundedQueue<int> empty(1);
  std::thread pusher([&] { EXPECT_FALSE(full.Push(2)); });
  std::thread popper([&] { EXPECT_EQ(empty.Pop(), std::nullopt); });
  full.Close();
  empty.Close();
  pusher.join();
  popper.join();
  full.Close();
}

TEST(BoundedQueueTest, ItemsLeftAtCloseAreStillPopped) {
  BoundedQueue<int> queue(2);
  ASSERT_TRUE(queue.Push(1));
  ASSERT_TRUE(queue.Push(2));
  queue.Close();
  EXPECT_FALSE(queue.Push(3));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueueTest, ManyThreadsLoseAndRepeatNothing) {
  constexpr int kThreads = 4;
  constexpr int64_t kItems = 2000;
  BoundedQueue<int64_t> queue(3);
  std::atomic<int64_t> sum{0};
  std::atomic<int64_t> popped{0};
  std::vector<std::thread> poppers;
  std::vector<std::thread> pushers;
  for (int t = 0; t < kThreads; ++t) {
    poppers.emplace_back([&] {
      while (const auto item = queue.Pop()) {
        sum += *item;
        ++popped;
      }
    });
    pushers.emplace_back([&, t] {
      for (int64_t i = 0; i < kItems; ++i) EXPECT_TRUE(queue.Push(t * kItems + i));
    });
  }
  for (auto& thread : pushers) thread.join();
  queue.Close();
  for (auto& thread : poppers) thread.join();
  constexpr int64_t kTotal = kThreads * kItems;
  EXPECT_EQ(popped.load(), kTotal);
  EXPECT_EQ(sum.load(), kTotal * (kTotal - 1) / 2);
}

}  // namespace
}  // namespace halograph
