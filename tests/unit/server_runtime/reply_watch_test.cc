#include "server/runtime/reply_watch.h"

#include <gtest/gtest.h>

namespace halograph::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct FakeCall {
  int held = 0;
  int given_up = 0;
};

constexpr ReplyWatch::Hooks kHooks = {[](void* call) { ++static_cast<FakeCall*>(call)->held; },
                                      [](void* call) { ++static_cast<FakeCall*>(call)->given_up; }};

class ReplyWatchTest : public testing::Test {
 protected:
  ReplyWatch watch_{kHooks, seconds(30)};
  const ReplyWatch::Clock::time_point start_ = ReplyWatch::Clock::now();
  FakeCall first_;
  FakeCall second_;
};

TEST_F(ReplyWatchTest, GivesUpWhatTakesTooLongAndEachOnce) {
  const auto first = watch_.Add(&first_, "peer one", start_);
  const auto second = watch_.Add(&second_, "peer two", start_ + seconds(20));
  EXPECT_EQ(watch_.GiveUp(start_ + seconds(29), false).replies, 0);
  const auto given_up = watch_.GiveUp(start_ + seconds(30), false);
  EXPECT_EQ(given_up.replies, 1);
  EXPECT_EQ(given_up.peer, "peer one");
  EXPECT_EQ(first_.held, 1);
  EXPECT_EQ(first_.given_up, 1);
  EXPECT_TRUE(given_up.stuck.empty());
  const auto later = watch_.GiveUp(start_ + seconds(49), false);
  EXPECT_EQ(later.replies, 0);
  EXPECT_EQ(later.stuck, std::set<std::string>{"peer one"}) << "it was given up, and did not end";
  EXPECT_EQ(watch_.GiveUp(start_ + seconds(50), false).replies, 1);
  EXPECT_EQ(second_.given_up, 1);
  EXPECT_TRUE(watch_.Remove(first));
  EXPECT_TRUE(watch_.Remove(second));
  EXPECT_EQ(watch_.size(), 0);
}

TEST_F(ReplyWatchTest, InNeedASecondIsEnough) {
  const auto first = watch_.Add(&first_, "a", start_);
  EXPECT_EQ(watch_.GiveUp(start_ + milliseconds(999), true).replies, 0);
  EXPECT_EQ(watch_.GiveUp(start_ + seconds(1), false).replies, 0);
  EXPECT_EQ(watch_.GiveUp(start_ + seconds(1), true).replies, 1);
  EXPECT_TRUE(watch_.Remove(first));
}

TEST_F(ReplyWatchTest, AllRepliesToAStuckPeerAreLost) {
  FakeCall third;
  const auto first = watch_.Add(&first_, "a", start_);
  const auto second = watch_.Add(&second_, "b", start_ + seconds(20));
  const auto last = watch_.Add(&third, "a", start_ + seconds(20));
  EXPECT_EQ(watch_.GiveUp(start_ + seconds(30), false).replies, 1);
  EXPECT_EQ(watch_.GiveUp(start_ + seconds(31), false).stuck, std::set<std::string>{"a"});
  EXPECT_EQ(third.given_up, 0) << "it goes with its connection";
  EXPECT_TRUE(watch_.Remove(first));
  EXPECT_FALSE(watch_.Remove(second));
  EXPECT_TRUE(watch_.Remove(last));
}

TEST_F(ReplyWatchTest, WhatIsSentIsNotGivenUp) {
  const auto first = watch_.Add(&first_, "a", start_);
  EXPECT_FALSE(watch_.Remove(first));
  EXPECT_EQ(watch_.GiveUp(start_ + seconds(60), true).replies, 0);
  EXPECT_EQ(first_.held, 0);
}

}  // namespace
}  // namespace halograph::server
