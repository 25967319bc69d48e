#include "common/base/mutex.h"

#include <chrono>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace halograph {
namespace {

class MutexTest : public testing::Test {
 protected:
  void Set(int value) {
    const MutexLock lock(mutex_);
    value_ = value;
    changed_.NotifyAll();
  }

  Mutex mutex_;
  CondVar changed_;
  int value_ HG_GUARDED_BY(mutex_) = 0;
};

TEST_F(MutexTest, LockExcludesOtherThreads) {
  constexpr int kRounds = 10000;
  const auto add = [this] {
    for (int i = 0; i < kRounds; ++i) {
      const MutexLock lock(mutex_);
      ++value_;
    }
  };
  std::thread other(add);
  add();
  other.join();
  const MutexLock lock(mutex_);
  EXPECT_EQ(value_, 2 * kRounds);
}

TEST_F(MutexTest, UnlockGivesTheMutexBackOnce) {
  MutexLock lock(mutex_);
  lock.Unlock();
  Set(1);  // would wait for ever
}

TEST_F(MutexTest, WaitReturnsWhenTheConditionHoldsAndHoldsTheMutex) {
  std::thread other;
  {
    const MutexLock lock(mutex_);
    other = std::thread([this] { Set(7); });
    changed_.Wait(mutex_, [this]() HG_REQUIRES(mutex_) { return value_ == 7; });
    value_ = 8;
  }
  other.join();
  const MutexLock lock(mutex_);
  EXPECT_EQ(value_, 8);
}

TEST_F(MutexTest, WaitForSaysWhetherTheConditionHeldInTime) {
  const MutexLock lock(mutex_);
  EXPECT_FALSE(changed_.WaitFor(mutex_, std::chrono::milliseconds(1),
                                [this]() HG_REQUIRES(mutex_) { return value_ != 0; }));
  EXPECT_TRUE(changed_.WaitUntil(mutex_, std::chrono::steady_clock::now(),
                                 [this]() HG_REQUIRES(mutex_) { return value_ == 0; }));
}

TEST_F(MutexTest, ConditionThatThrowsLeavesTheMutexHeldByItsLock) {
  {
    const MutexLock lock(mutex_);
    EXPECT_THROW(changed_.Wait(mutex_, []() -> bool { throw std::runtime_error("no"); }),
                 std::runtime_error);
    value_ = 1;
  }
  Set(2);
}

}  // namespace
}  // namespace halograph
