#include "trainer/training/early_stopping.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace halograph {
namespace {

// How many evaluations it takes; 0: all of them.
int64_t EndsAfter(const EarlyStopping& stopping, const std::vector<double>& metrics) {
  EarlyStopping::State state;
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (stopping.Add(metrics[i], &state)) return static_cast<int64_t>(i) + 1;
  }
  return 0;
}

TEST(EarlyStoppingTest, EndsAfterSoManyEvaluationsWithoutABetterOne) {
  EXPECT_EQ(EndsAfter(EarlyStopping(2, 0, true), {0.5, 0.4, 0.6, 0.6, 0.5, 0.9}), 5);
  EXPECT_EQ(EndsAfter(EarlyStopping(1, 0, true), {0.5, 0.5}), 2) << "as good is not better";
  EXPECT_EQ(EndsAfter(EarlyStopping(2, 0, false), {0.5, 0.4, 0.3, 0.6, 0.4}), 5);
  EXPECT_EQ(EndsAfter(EarlyStopping(3, 0, true), {0.5, 0.4, 0.6, 0.6, 0.5}), 0);
}

TEST(EarlyStoppingTest, WithoutPatienceNothingEnds) {
  EXPECT_EQ(EndsAfter(EarlyStopping(0, 0, true), {3, 2, 1, 0, -1}), 0);
}

TEST(EarlyStoppingTest, SmallGainsAreNoneButAddUp) {
  EXPECT_EQ(EndsAfter(EarlyStopping(2, 0.125, true), {0.5, 0.5625, 0.625}), 3);
  EXPECT_EQ(EndsAfter(EarlyStopping(2, 0.125, true), {0.5, 0.5625, 0.6875, 0.75}), 0);
  EXPECT_EQ(EndsAfter(EarlyStopping(1, 0.125, false), {0.5, 0.4375}), 2);
}

TEST(EarlyStoppingTest, AMetricThatIsNotKnownIsNoBetter) {
  EXPECT_EQ(EndsAfter(EarlyStopping(2, 0, true), {std::nan(""), std::nan("")}), 2);
  EXPECT_EQ(EndsAfter(EarlyStopping(2, 0, true), {0.5, std::nan(""), 0.6, 0.5}), 0);
}

TEST(EarlyStoppingTest, WhatItCountsIsInTheState) {
  EarlyStopping::State state;
  ASSERT_FALSE(EarlyStopping(2, 0, true).Add(0.5, &state));
  ASSERT_FALSE(EarlyStopping(2, 0, true).Add(0.25, &state));
  EXPECT_EQ(state.best, 0.5);
  EXPECT_EQ(state.without_gain, 1);
  EXPECT_TRUE(EarlyStopping(2, 0, true).Add(0.375, &state));
}

}  // namespace
}  // namespace halograph
