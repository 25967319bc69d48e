#include "common/base/cancel.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace halograph {
namespace {

TEST(CancelTokenTest, CheckIsOkUntilCancelAndCancelledForGood) {
  CancelToken token;
  EXPECT_FALSE(token.cancelled());
  EXPECT_TRUE(token.Check().ok());
  token.Cancel();
  token.Cancel();
  EXPECT_TRUE(token.cancelled());
  EXPECT_EQ(token.Check().code(), absl::StatusCode::kCancelled);
}

TEST(CancelTokenTest, RegisteredWorkRunsOnceOnTheThreadThatCancels) {
  CancelToken token;
  std::vector<std::thread::id> ran_on;
  const CancelToken::Registration first(&token,
                                        [&] { ran_on.push_back(std::this_thread::get_id()); });
  const CancelToken::Registration second(&token,
                                         [&] { ran_on.push_back(std::this_thread::get_id()); });
  std::thread canceller([&] { token.Cancel(); });
  const std::thread::id expected = canceller.get_id();
  canceller.join();
  token.Cancel();
  EXPECT_EQ(ran_on, (std::vector<std::thread::id>{expected, expected}));
}

TEST(CancelTokenTest, RegistrationAfterCancelRunsAtOnce) {
  CancelToken token;
  token.Cancel();
  int runs = 0;
  const CancelToken::Registration late(&token, [&] { ++runs; });
  EXPECT_EQ(runs, 1);
}

TEST(CancelTokenTest, DestroyedRegistrationNeverRuns) {
  CancelToken token;
  int runs = 0;
  {
    const CancelToken::Registration gone(&token, [&] { ++runs; });
  }
  token.Cancel();
  EXPECT_EQ(runs, 0);
}

TEST(CancelTokenTest, NoTokenIsNeverCancelled) {
  int runs = 0;
  {
    const CancelToken::Registration none(nullptr, [&] { ++runs; });
  }
  EXPECT_EQ(runs, 0);
}

// The work holds until this thread has begun to destroy the registration, or for long enough that
// a destructor that does not wait would be through.
TEST(CancelTokenTest, DestroyingARegistrationWaitsForItsRun) {
  CancelToken token;
  std::mutex mutex;
  std::condition_variable changed;
  bool running = false;
  std::atomic<bool> done = false;
  auto registration = std::make_unique<CancelToken::Registration>(&token, [&] {
    {
      const std::lock_guard lock(mutex);
      running = true;
    }
    changed.notify_all();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    done = true;
  });
  std::thread canceller([&] { token.Cancel(); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return running; });
  }
  registration.reset();
  EXPECT_TRUE(done);
  canceller.join();
}

TEST(CancelTokenTest, ManyRegisterWhileOneCancels) {
  CancelToken token;
  std::atomic<int> runs = 0;
  std::vector<std::thread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&] {
      while (!token.cancelled()) {
        const CancelToken::Registration brief(&token, [&] { ++runs; });
      }
      const CancelToken::Registration late(&token, [&] { ++runs; });
    });
  }
  token.Cancel();
  for (std::thread& worker : workers) worker.join();
  EXPECT_GE(runs, 4);
  EXPECT_LE(runs, 8);
}

}  // namespace
}  // namespace halograph
