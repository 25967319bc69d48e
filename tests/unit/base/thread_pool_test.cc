#include "common/base/thread_pool.h"

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

namespace halograph {
namespace {

// Keeps a pool's only thread busy from construction until Open. The task shares the promises, so
// the gate may go away while the task ends.
class Gate {
 public:
  explicit Gate(ThreadPool& pool) {
    auto entered = std::make_shared<std::promise<void>>();
    EXPECT_TRUE(pool.TrySubmit([entered, open = open_] {
      entered->set_value();
      open->get_future().wait();
    }));
    entered->get_future().wait();
  }
  void Open() { open_->set_value(); }

 private:
  std::shared_ptr<std::promise<void>> open_ = std::make_shared<std::promise<void>>();
};

TEST(ThreadPoolTest, RunsEveryTaskBeforeShutdownReturns) {
  std::atomic<int> ran{0};
  ThreadPool pool("test", 3, 100);
  EXPECT_EQ(pool.threads(), 3u);
  EXPECT_EQ(pool.queue_capacity(), 100u);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool.TrySubmit([&] { ++ran; }));
  pool.Shutdown();
  EXPECT_EQ(ran.load(), 100);
  pool.Shutdown();
}

TEST(ThreadPoolTest, BusyThreadsAreThoseThatRunATask) {
  ThreadPool pool("test", 2, 8);
  EXPECT_EQ(pool.busy(), 0u);
  Gate first(pool);
  EXPECT_EQ(pool.busy(), 1u);
  Gate second(pool);
  EXPECT_EQ(pool.busy(), 2u);
  first.Open();
  second.Open();
  pool.Shutdown();
  EXPECT_EQ(pool.busy(), 0u);
}

TEST(ThreadPoolTest, DestructorRunsWhatIsQueued) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool("test", 1, 8);
    for (int i = 0; i < 8; ++i) {
      while (!pool.TrySubmit([&] { ++ran; })) std::this_thread::yield();
    }
  }
  EXPECT_EQ(ran.load(), 8);
}

TEST(ThreadPoolTest, FullQueueRefusesAndDropsTheTask) {
  ThreadPool pool("test", 1, 2);
  Gate gate(pool);
  std::atomic<int> ran{0};
  EXPECT_TRUE(pool.TrySubmit([&] { ++ran; }));
  EXPECT_TRUE(pool.TrySubmit([&] { ++ran; }));
  EXPECT_EQ(pool.queued(), 2u);
  EXPECT_FALSE(pool.TrySubmit([&] { ran += 100; }));
  gate.Open();
  pool.Shutdown();
  EXPECT_EQ(ran.load(), 2);
}

TEST(ThreadPoolTest, RefusesAfterShutdown) {
  ThreadPool pool("test", 1, 2);
  pool.Shutdown();
  EXPECT_FALSE(pool.TrySubmit([] { FAIL() << "a task ran after Shutdown"; }));
}

TEST(ThreadPoolTest, ThreadNameKeepsFifteenBytes) {
  std::promise<std::string> name;
  ThreadPool pool("a-name-that-is-too-long", 1, 1);
  ASSERT_TRUE(pool.TrySubmit([&] {
    char text[16] = {};
    pthread_getname_np(pthread_self(), text, sizeof(text));
    name.set_value(text);
  }));
  EXPECT_EQ(name.get_future().get(), "a-name-that-is-");
}

// How often each item of [0, n) was handed to the body.
std::vector<int> Visits(ThreadPool* pool, int64_t n, int64_t grain) {
  std::vector<int> visits(static_cast<size_t>(n), 0);
  ParallelFor(pool, n, grain, [&](int64_t begin, int64_t end) {
    EXPECT_LT(begin, end);
    EXPECT_LE(end - begin, grain);
    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
  });
  return visits;
}

TEST(ParallelForTest, VisitsEachItemOnceAtAnySizeAndGrain) {
  ThreadPool pool("test", 3, 16);
  for (ThreadPool* used : {static_cast<ThreadPool*>(nullptr), &pool}) {
    for (const int64_t n : {0, 1, 2, 7, 64, 1000}) {
      for (const int64_t grain : {1, 3, 64, 5000}) {
        EXPECT_EQ(Visits(used, n, grain), std::vector<int>(static_cast<size_t>(n), 1))
            << "n " << n << ", grain " << grain;
      }
    }
  }
}

TEST(ParallelForTest, ChunksStartAtMultiplesOfTheGrain) {
  ThreadPool pool("test", 2, 16);
  std::mutex mutex;
  std::set<std::pair<int64_t, int64_t>> chunks;
  ParallelFor(&pool, 10, 4, [&](int64_t begin, int64_t end) {
    std::lock_guard lock(mutex);
    chunks.emplace(begin, end);
  });
  EXPECT_EQ(chunks, (std::set<std::pair<int64_t, int64_t>>{{0, 4}, {4, 8}, {8, 10}}));
}

TEST(ParallelForTest, PoolThreadsTakePart) {
  ThreadPool pool("test", 1, 1);
  // Both chunks wait for each other, so two threads must run them.
  std::promise<void> arrived[2];
  std::shared_future<void> both[2] = {arrived[0].get_future(), arrived[1].get_future()};
  ParallelFor(&pool, 2, 1, [&](int64_t begin, int64_t) {
    arrived[begin].set_value();
    EXPECT_EQ(both[1 - begin].wait_for(std::chrono::seconds(60)), std::future_status::ready);
  });
}

TEST(ParallelForTest, RunsAloneWhenThePoolIsFull) {
  ThreadPool pool("test", 1, 1);
  Gate gate(pool);
  ASSERT_TRUE(pool.TrySubmit([] {}));
  EXPECT_EQ(Visits(&pool, 100, 3), std::vector<int>(100, 1));
  gate.Open();
}

TEST(ParallelForTest, HelperThatStartsAfterTheLoopTouchesNothing) {
  ThreadPool pool("test", 1, 4);
  Gate gate(pool);
  auto visits = std::make_unique<std::atomic<int>>(0);
  ParallelFor(&pool, 8, 1, [&](int64_t, int64_t) { ++*visits; });
  EXPECT_EQ(visits->load(), 8);
  EXPECT_EQ(pool.queued(), 1u) << "no helper was left in the queue: the test shows nothing";
  visits.reset();
  gate.Open();
  pool.Shutdown();
}

TEST(ParallelForTest, FromTasksOfTheSamePoolCannotDeadlock) {
  constexpr int kTasks = 6;
  ThreadPool pool("test", 2, 3 * kTasks);  // room for each task's helpers too
  std::atomic<int64_t> sum{0};
  std::atomic<int> finished{0};
  for (int t = 0; t < kTasks; ++t) {
    ASSERT_TRUE(pool.TrySubmit([&] {
      ParallelFor(&pool, 100, 7, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) sum += i;
      });
      ++finished;
    }));
  }
  pool.Shutdown();
  EXPECT_EQ(finished.load(), kTasks);
  EXPECT_EQ(sum.load(), kTasks * 4950);
}

TEST(ParallelForTest, NestsWithinItself) {
  ThreadPool pool("test", 2, 4);
  std::atomic<int64_t> count{0};
  ParallelFor(&pool, 8, 1, [&](int64_t, int64_t) {
    ParallelFor(&pool, 8, 1, [&](int64_t begin, int64_t end) { count += end - begin; });
  });
  EXPECT_EQ(count.load(), 64);
}

}  // namespace
}  // namespace halograph
