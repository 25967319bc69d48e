#include "common/base/line_limit.h"

#include <gtest/gtest.h>

namespace halograph {
namespace {

TEST(LineLimitTest, WhatIsLeftOutIsCountedUntilTheNextLine) {
  LineLimit lines(2);
  const LineLimit::Clock::time_point begin = LineLimit::Clock::now();
  int64_t left_out = -1;
  EXPECT_TRUE(lines.Allow(&left_out, begin));
  EXPECT_EQ(left_out, 0);
  EXPECT_TRUE(lines.Allow(&left_out, begin + std::chrono::milliseconds(1)));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(lines.Allow(&left_out, begin + std::chrono::milliseconds(999)));
  }
  EXPECT_TRUE(lines.Allow(&left_out, begin + std::chrono::seconds(1)));
  EXPECT_EQ(left_out, 3);
  EXPECT_TRUE(lines.Allow(&left_out, begin + std::chrono::seconds(1)));
  EXPECT_EQ(left_out, 0);
}

}  // namespace
}  // namespace halograph
