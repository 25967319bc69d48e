#include "common/base/rng.h"

#include <limits>

#include <gtest/gtest.h>

namespace halograph {
namespace {

// The values of the published generator for these seeds.
TEST(CounterRngTest, IsSplitMix64) {
  CounterRng zero(0);
  EXPECT_EQ(zero.Next(), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(zero.Next(), 0x6e789e6aa1b965f4ULL);
  EXPECT_EQ(zero.Next(), 0x06c45d188009454fULL);
  EXPECT_EQ(zero.Next(), 0xf88bb8a8724c81ecULL);
  CounterRng other(1234567);
  EXPECT_EQ(other.Next(), 6457827717110365317ULL);
  EXPECT_EQ(other.Next(), 3203168211198807973ULL);
  EXPECT_EQ(other.Next(), 9817491932198370423ULL);
  EXPECT_EQ(other.Next(), 4593380528125082431ULL);
  EXPECT_EQ(other.Next(), 16408922859458223821ULL);
}

TEST(CounterRngTest, DrawIsAFunctionOfKeyAndCounter) {
  CounterRng rng(42);
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(rng.Next(), SubKey(42, i));
}

TEST(BoundedTest, IsTheHighHalfOfTheProduct) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  static_assert(Bounded(0, 10) == 0);
  static_assert(Bounded(kMax, 10) == 9);
  static_assert(Bounded(kMax, 1) == 0);
  static_assert(Bounded(uint64_t{1} << 63, 10) == 5);
  static_assert(Bounded(kMax, kMax) == kMax - 1);
}

TEST(CounterRngTest, BoundedAndDoubleStayInRange) {
  CounterRng rng(7);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_LT(rng.NextBounded(3), 3u);
    const double value = rng.NextDouble();
    EXPECT_GE(value, 0.0);
    EXPECT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

}  // namespace
}  // namespace halograph
