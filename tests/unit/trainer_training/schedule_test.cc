#include "trainer/training/schedule.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halograph {
namespace {

auto Near(const std::vector<double>& wanted) {
  return testing::Pointwise(testing::DoubleNear(1e-15), wanted);
}

// The rates of the steps first to last, both included.
std::vector<double> Rates(const ControlOptions& options, const RunLength& length, int64_t first,
                          int64_t last) {
  std::vector<double> rates;
  for (int64_t step = first; step <= last; ++step) {
    rates.push_back(LearningRate(options, 1, step, length));
  }
  return rates;
}

TEST(ScheduleTest, AConstantRateIsTheOneGivenBitForBit) {
  for (const double base : {0.003, 1e-300, 0.1}) {
    for (const int64_t step : {0, 1, 99}) {
      EXPECT_EQ(LearningRate({}, base, step, {.steps = 100, .steps_per_epoch = 10}), base);
    }
  }
}

TEST(ScheduleTest, StepsMultiplyTheRateEverySoManyEpochs) {
  const ControlOptions options{
      .lr_schedule = LrSchedule::kStep, .lr_step_epochs = 2, .lr_decay = 0.5};
  EXPECT_THAT(Rates(options, {.steps = 12, .steps_per_epoch = 2}, 0, 9),
              Near({1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25}));
}

TEST(ScheduleTest, TheCosineGoesFromTheRateToItsEndAtTheLastStep) {
  ControlOptions options{.lr_schedule = LrSchedule::kCosine};
  const RunLength length{.steps = 5, .steps_per_epoch = 5};
  const double root = 0.70710678118654752;
  EXPECT_THAT(Rates(options, length, 0, 4), Near({1, (1 + root) / 2, 0.5, (1 - root) / 2, 0}));
  options.lr_min = 0.2;
  EXPECT_THAT(Rates(options, length, 2, 6), Near({0.6, 0.2 + 0.4 * (1 - root), 0.2, 0.2, 0.2}))
      << "a step beyond the last has the last one's rate";
}

TEST(ScheduleTest, TheWarmUpGrowsToTheScheduleWhichBeginsAfterIt) {
  ControlOptions options{.warmup_steps = 3};
  const RunLength length{.steps = 8, .steps_per_epoch = 2};
  EXPECT_THAT(Rates(options, length, 0, 4), Near({0.25, 0.5, 0.75, 1, 1}));
  options.lr_schedule = LrSchedule::kCosine;
  EXPECT_THAT(Rates(options, length, 0, 7),
              Near({0.25, 0.5, 0.75, 1, 0.85355339059327376, 0.5, 0.14644660940672624, 0}));
  options.lr_schedule = LrSchedule::kStep;
  options.lr_step_epochs = 1;
  EXPECT_THAT(Rates(options, length, 0, 4), Near({0.25, 0.5, 0.075, 0.1, 0.01}));
}

TEST(ScheduleTest, ARunThatIsShorterThanItsWarmUpOnlyGrows) {
  const ControlOptions options{.lr_schedule = LrSchedule::kCosine, .warmup_steps = 9};
  EXPECT_THAT(Rates(options, {.steps = 3, .steps_per_epoch = 3}, 0, 2), Near({0.1, 0.2, 0.3}));
  const ControlOptions one{.lr_schedule = LrSchedule::kCosine};
  EXPECT_EQ(LearningRate(one, 1, 0, {.steps = 1, .steps_per_epoch = 1}), 1);
}

}  // namespace
}  // namespace halograph
