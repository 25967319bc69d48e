#include "client/remote/suspension_watch.h"

#include <gtest/gtest.h>

namespace halograph {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(SuspensionWatchTest, AGapOfHalfTheTimeoutIsTold) {
  const SuspensionWatch::Clock::time_point begin{};
  for (const nanoseconds timeout : {nanoseconds(seconds(30)), nanoseconds(milliseconds(300))}) {
    SuspensionWatch watch(timeout, begin);
    EXPECT_GT(watch.next_look(), begin);
    EXPECT_LE(watch.next_look(), begin + timeout / 8) << "so that it is told before all is over";
    EXPECT_EQ(watch.Look(watch.next_look()), nanoseconds(0));
    EXPECT_EQ(watch.Look(watch.next_look() + timeout / 2 - milliseconds(1)), nanoseconds(0));
    EXPECT_EQ(watch.Look(watch.next_look() + timeout / 2), timeout / 2);
    EXPECT_EQ(watch.Look(watch.next_look()), nanoseconds(0)) << "it is told once";
    EXPECT_EQ(watch.Look(watch.next_look() + seconds(3600)), nanoseconds(seconds(3600)));
  }
}

TEST(SuspensionWatchTest, WorkThatIsLeftOutIsNoGapAndTheRestIs) {
  const SuspensionWatch::Clock::time_point begin{};
  for (const seconds missed : {seconds(0), seconds(7)}) {
    SuspensionWatch watch(seconds(1), begin);
    watch.LeaveOut(seconds(100));
    EXPECT_EQ(watch.next_look(), begin + seconds(100) + milliseconds(125));
    EXPECT_EQ(watch.Look(watch.next_look() + missed), nanoseconds(missed));
  }
}

TEST(SuspensionWatchTest, AWaitThatBeganEarlierIsWatchedButNotOverOwnWork) {
  const SuspensionWatch::Clock::time_point begin{seconds(100)};
  SuspensionWatch watch(seconds(1), begin);
  watch.WatchSince(begin - seconds(5));
  EXPECT_EQ(watch.Look(begin), seconds(5) - milliseconds(125));
  watch.WatchSince(begin + seconds(5));
  EXPECT_EQ(watch.last_look(), begin) << "later than the last look";
  watch.LeaveOut(seconds(3));
  watch.WatchSince(begin + seconds(1));
  EXPECT_EQ(watch.Look(begin + seconds(3)), nanoseconds(0));
}

TEST(SuspensionWatchTest, WhoLooksMoreOftenIsNotSuspended) {
  SuspensionWatch::Clock::time_point now{};
  SuspensionWatch watch(seconds(1), now);
  for (int i = 0; i < 1000; ++i) {
    now += milliseconds(10);
    EXPECT_EQ(watch.Look(now), nanoseconds(0));
  }
}

}  // namespace
}  // namespace halograph
