#include "server/runtime/waiting_calls.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph::server {
namespace {

using Clock = WaitingCalls::Clock;

constexpr std::chrono::hours kLong{1};

class WaitingCallsTest : public testing::Test {
 protected:
  // Waits for `ready_`; notes what it was told.
  Status Wait(Clock::time_point until = Clock::now() + kLong) {
    return calls_.Add([this] { return ready_.load(); }, until,
                      [this](const Status& status) { told_.push_back(status); });
  }

  WaitingCalls calls_{2};
  std::atomic<bool> ready_ = false;
  std::vector<Status> told_;
};

TEST_F(WaitingCallsTest, GoesOnWhenItIsReadyAndNotBefore) {
  ASSERT_TRUE(Wait().ok());
  EXPECT_EQ(calls_.Serve(Clock::now()), 1U);
  EXPECT_TRUE(told_.empty());
  ready_ = true;
  EXPECT_EQ(calls_.Serve(Clock::now()), 0U);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_TRUE(told_[0].ok());
  EXPECT_EQ(calls_.Serve(Clock::now()), 0U);
  EXPECT_EQ(told_.size(), 1U) << "called once";
}

// What made it ready between the caller's look and Add calls Serve no more.
TEST_F(WaitingCallsTest, WhatIsReadyByNowDoesNotWait) {
  ready_ = true;
  ASSERT_TRUE(Wait().ok());
  EXPECT_EQ(told_.size(), 1U);
  EXPECT_EQ(calls_.size(), 0U);
}

TEST_F(WaitingCallsTest, GoesOnWhenItsTimeIsUp) {
  const auto now = Clock::now();
  ASSERT_TRUE(Wait(now + kLong).ok());
  EXPECT_EQ(calls_.Serve(now + kLong - std::chrono::seconds(1)), 1U);
  EXPECT_EQ(calls_.Serve(now + kLong), 0U);
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_TRUE(told_[0].ok());
}

TEST_F(WaitingCallsTest, MoreThanMayWaitAreUnavailable) {
  ASSERT_TRUE(Wait().ok());
  ASSERT_TRUE(Wait().ok());
  const Status third = Wait();
  EXPECT_TRUE(absl::IsUnavailable(third));
  EXPECT_THAT(Message(third), testing::HasSubstr("2 calls wait"));
  EXPECT_TRUE(told_.empty());
}

TEST_F(WaitingCallsTest, OneConnectionHasAQuarterOfThem) {
  WaitingCalls calls(8);
  const auto wait = [&](const std::string& peer) {
    return calls.Add([] { return false; }, Clock::now() + kLong, [](const Status&) {}, peer);
  };
  EXPECT_TRUE(wait("a:1").ok());
  EXPECT_TRUE(wait("a:1").ok());
  const Status third = wait("a:1");
  EXPECT_TRUE(absl::IsUnavailable(third));
  EXPECT_THAT(Message(third), testing::HasSubstr("2 calls of this connection"));
  EXPECT_TRUE(wait("a:2").ok());
  calls.Close();
}

TEST_F(WaitingCallsTest, CloseEndsThoseWhoWaitAndRefusesOthers) {
  ASSERT_TRUE(Wait().ok());
  calls_.Close();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_TRUE(absl::IsUnavailable(told_[0]));
  EXPECT_TRUE(absl::IsUnavailable(Wait()));
}

TEST_F(WaitingCallsTest, WakesWhoeverServesWhenSomebodyBeginsToWait) {
  int woken = 0;
  calls_.OnWait([&] { ++woken; });
  ASSERT_TRUE(Wait().ok());
  EXPECT_EQ(woken, 1);
}

TEST_F(WaitingCallsTest, EachOfManyThreadsGoesOnOnce) {
  WaitingCalls calls(64);
  std::atomic<int> gone = 0;
  std::atomic<int> added = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const Status status = calls.Add([&, i] { return i % 2 == 0 || ready_; },
                                        Clock::now() + kLong, [&](const Status&) { ++gone; });
        added += status.ok() ? 1 : 0;
        if (i % 7 == 0) static_cast<void>(calls.Serve(Clock::now()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ready_ = true;
  EXPECT_EQ(calls.Serve(Clock::now()), 0U);
  EXPECT_EQ(gone, added);
}

}  // namespace
}  // namespace halograph::server
