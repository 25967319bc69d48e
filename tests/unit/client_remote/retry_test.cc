#include "client/remote/retry.h"

#include <chrono>

#include <gtest/gtest.h>

#include "common/base/rng.h"

namespace halograph {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kLowest = 0;
constexpr uint64_t kHighest = UINT64_MAX;

TEST(RetryPauseTest, DoublesUpToTheLongest) {
  EXPECT_EQ(RetryPause(1, {}, kLowest), milliseconds(25));
  EXPECT_EQ(RetryPause(2, {}, kLowest), milliseconds(50));
  EXPECT_EQ(RetryPause(3, {}, kLowest), milliseconds(100));
  EXPECT_EQ(RetryPause(20, {}, kLowest), milliseconds(1000));
  EXPECT_EQ(RetryPause(1000000, {}, kLowest), milliseconds(1000));
}

TEST(RetryPauseTest, JitterSpreadsOverHalfToOneAndAHalf) {
  CounterRng rng(1);
  auto least = RetryPause(1, {}, kHighest);
  auto most = RetryPause(1, {}, kLowest);
  for (int i = 0; i < 1000; ++i) {
    const auto pause = RetryPause(1, {}, rng.Next());
    ASSERT_GE(pause, milliseconds(25));
    ASSERT_LE(pause, milliseconds(75));
    least = std::min(least, pause);
    most = std::max(most, pause);
  }
  EXPECT_LT(least, milliseconds(27));
  EXPECT_GT(most, milliseconds(73));
}

TEST(RetryPauseTest, PushbackIsALowerBound) {
  EXPECT_EQ(RetryPause(9, milliseconds(300), kLowest), milliseconds(300));
  EXPECT_LE(RetryPause(9, milliseconds(300), kHighest), milliseconds(450));
  EXPECT_EQ(RetryPause(1, milliseconds(0), kHighest), milliseconds(0));
}

}  // namespace
}  // namespace halograph
