#include "trainer/pipeline/ordered_pipeline.h"

#include <atomic>
#include <latch>
#include <string>

#include <gtest/gtest.h>

#include "common/base/rng.h"

namespace halograph {
namespace {

using Ints = OrderedPipeline<int64_t>;

class OrderedPipelineTest : public testing::TestWithParam<std::pair<size_t, size_t>> {};

TEST_P(OrderedPipelineTest, DeliversAllInOrder) {
  const auto [threads, capacity] = GetParam();
  std::atomic<uint64_t> spun = 0;
  Ints pipeline(500, threads, capacity, [&](int64_t index) -> StatusOr<int64_t> {
    // Items take unequally long, so that they are finished out of order.
    for (uint64_t i = 0; i < Mix(static_cast<uint64_t>(index)) % 2000; ++i) ++spun;
    return index * index;
  });
  for (int64_t i = 0; i < 500; ++i) {
    auto next = pipeline.Next();
    ASSERT_TRUE(next.ok() && next->has_value());
    EXPECT_EQ(**next, i * i);
  }
  auto end = pipeline.Next();
  ASSERT_TRUE(end.ok());
  EXPECT_FALSE(end->has_value());
}

TEST_P(OrderedPipelineTest, IsNeverFurtherAheadThanItsCapacity) {
  const auto [threads, capacity] = GetParam();
  std::atomic<int64_t> taken = 0;
  std::atomic<int64_t> furthest = 0;
  Ints pipeline(300, threads, capacity, [&](int64_t index) -> StatusOr<int64_t> {
    const int64_t ahead = index - taken.load();
    int64_t seen = furthest.load();
    while (seen < ahead && !furthest.compare_exchange_weak(seen, ahead)) {
    }
    return index;
  });
  for (int64_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(pipeline.Next().ok());
    ++taken;
  }
  // `taken` is raised after room was made, so one more may have begun by then.
  EXPECT_LE(furthest.load(), static_cast<int64_t>(capacity));
}

TEST_P(OrderedPipelineTest, AnErrorComesAfterTheItemsBeforeItAndStays) {
  const auto [threads, capacity] = GetParam();
  Ints pipeline(100, threads, capacity, [](int64_t index) -> StatusOr<int64_t> {
    if (index >= 40) return Unavailable("item {} is not there", index);
    return index;
  });
  for (int64_t i = 0; i < 40; ++i) ASSERT_EQ(**pipeline.Next(), i);
  for (int again = 0; again < 2; ++again) {
    const Status status = pipeline.Next().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(Message(status), "item 40 is not there");
  }
}

TEST_P(OrderedPipelineTest, DroppedInTheMiddleJoinsItsThreads) {
  const auto [threads, capacity] = GetParam();
  std::atomic<int64_t> running = 0;
  {
    Ints pipeline(1000, threads, capacity, [&](int64_t index) -> StatusOr<int64_t> {
      ++running;
      --running;
      return index;
    });
    for (int64_t i = 0; i < 10; ++i) ASSERT_TRUE(pipeline.Next().ok());
  }
  EXPECT_EQ(running.load(), 0);
}

INSTANTIATE_TEST_SUITE_P(ThreadsAndCapacity, OrderedPipelineTest,
                         testing::Values(std::pair<size_t, size_t>{2, 0},
                                         std::pair<size_t, size_t>{1, 1},
                                         std::pair<size_t, size_t>{1, 4},
                                         std::pair<size_t, size_t>{4, 2},
                                         std::pair<size_t, size_t>{4, 16}));

TEST(OrderedPipelineStopTest, CloseEndsAWaitingConsumer) {
  std::latch inside(1), release(1);
  Ints pipeline(10, 1, 2, [&](int64_t index) -> StatusOr<int64_t> {
    inside.count_down();
    release.wait();
    return index;
  });
  Status seen;
  std::thread consumer([&] { seen = pipeline.Next().status(); });
  inside.wait();
  std::thread closer([&] { pipeline.Close(); });
  consumer.join();  // ends although item 0 is still in the making
  release.count_down();
  closer.join();
  EXPECT_EQ(seen.code(), absl::StatusCode::kCancelled);
}

TEST(OrderedPipelineStopTest, AThrowingProducerIsAnError) {
  Ints pipeline(10, 2, 2, [](int64_t) -> StatusOr<int64_t> { throw std::bad_alloc(); });
  const Status status = pipeline.Next().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(Message(status).find("bad_alloc"), std::string::npos);
}

TEST(OrderedPipelineStopTest, NothingToDoEndsAtOnce) {
  Ints pipeline(0, 2, 2, [](int64_t) -> StatusOr<int64_t> { return Internal("not reached"); });
  auto next = pipeline.Next();
  ASSERT_TRUE(next.ok());
  EXPECT_FALSE(next->has_value());
}

}  // namespace
}  // namespace halograph
