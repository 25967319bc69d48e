#include <future>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include "common/base/thread_pool.h"

namespace halograph {
namespace {

cpu_set_t OwnProcessors() {
  cpu_set_t set{};
  EXPECT_EQ(::pthread_getaffinity_np(::pthread_self(), sizeof(set), &set), 0);
  return set;
}

int FirstOf(const cpu_set_t& set) {
  int processor = 0;
  while (!CPU_ISSET(static_cast<size_t>(processor), &set)) ++processor;
  return processor;
}

// Where a task runs, and where it may.
struct Seen {
  int processor = -1;
  cpu_set_t may{};
};

Seen RunOne(ThreadPool* pool) {
  std::promise<Seen> seen;
  EXPECT_TRUE(pool->TrySubmit([&] { seen.set_value({::sched_getcpu(), OwnProcessors()}); }));
  return seen.get_future().get();
}

class MoveAsideTest : public testing::Test {
 protected:
  void TearDown() override { RunOn(all_); }
  // The test's thread.
  void RunOn(const cpu_set_t& set) {
    ASSERT_EQ(::pthread_setaffinity_np(::pthread_self(), sizeof(set), &set), 0);
  }
  void StayOnFirst() {
    cpu_set_t one{};
    CPU_SET(static_cast<size_t>(first_), &one);
    RunOn(one);
  }

  const cpu_set_t all_ = OwnProcessors();
  const int first_ = FirstOf(all_);
};

TEST_F(MoveAsideTest, NextTaskRunsBesideTheCallerAndTheOneAfterItAnywhere) {
  if (CPU_COUNT(&all_) < 2) GTEST_SKIP() << "one processor";
  ThreadPool pool("test", 1, 4);
  RunOne(&pool);  // the thread is there
  StayOnFirst();
  for (int i = 0; i < 3; ++i) {
    pool.MoveAside();
    pool.MoveAside();  // a second time changes nothing
    const Seen aside = RunOne(&pool);
    EXPECT_NE(aside.processor, first_);
    EXPECT_FALSE(CPU_ISSET(static_cast<size_t>(first_), &aside.may));
    EXPECT_EQ(CPU_COUNT(&aside.may), CPU_COUNT(&all_) - 1);
    const Seen after = RunOne(&pool);
    EXPECT_TRUE(CPU_EQUAL(&after.may, &all_));
  }
}

TEST_F(MoveAsideTest, ThreadOfOneProcessorStaysThere) {
  StayOnFirst();
  ThreadPool pool("test", 1, 4);
  RunOne(&pool);
  pool.MoveAside();
  const Seen seen = RunOne(&pool);
  EXPECT_EQ(seen.processor, first_);
  EXPECT_EQ(CPU_COUNT(&seen.may), 1);
}

TEST_F(MoveAsideTest, PoolThatIsShutDownHasNoThreadToMove) {
  ThreadPool pool("test", 2, 4);
  pool.Shutdown();
  pool.MoveAside();
}

}  // namespace
}  // namespace halograph
