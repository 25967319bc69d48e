#include "trainer/training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace halograph {
namespace {

double StepRate(const ControlOptions& options, double base, int64_t step, const RunLength& length) {
  const int64_t epoch = step / std::max<int64_t>(1, length.steps_per_epoch);
  const int64_t drops = epoch / options.lr_step_epochs;
  return base * std::pow(options.lr_decay, static_cast<double>(drops));
}

double CosineRate(const ControlOptions& options, double base, int64_t step,
                  const RunLength& length) {
  const int64_t steps = length.steps - 1 - options.warmup_steps;
  const int64_t taken = std::max<int64_t>(0, step - options.warmup_steps);
  if (taken >= steps) return taken == 0 ? base : options.lr_min;
  const double part = static_cast<double>(taken) / static_cast<double>(steps);
  return options.lr_min + (base - options.lr_min) * (1 + std::cos(std::numbers::pi * part)) / 2;
}

double RateAfterWarmUp(const ControlOptions& options, double base, int64_t step,
                       const RunLength& length) {
  switch (options.lr_schedule) {
    case LrSchedule::kConstant:
      return base;
    case LrSchedule::kStep:
      return StepRate(options, base, step, length);
    case LrSchedule::kCosine:
      return CosineRate(options, base, step, length);
  }
  return base;
}

}  // namespace

RunLength LengthOfRun(int64_t epochs, int64_t steps_per_epoch, int64_t most_steps) {
  const int64_t steps = epochs * steps_per_epoch;
  return {.steps = most_steps > 0 ? std::min(steps, most_steps) : steps,
          .steps_per_epoch = steps_per_epoch};
}

double LearningRate(const ControlOptions& options, double base, int64_t step,
                    const RunLength& length) {
  const double rate = RateAfterWarmUp(options, base, step, length);
  if (step >= options.warmup_steps) return rate;
  return rate * static_cast<double>(step + 1) / static_cast<double>(options.warmup_steps + 1);
}

}  // namespace halograph
