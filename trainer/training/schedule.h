// The learning rate of a step, as a pure function of where the step stands in the run: a run that
// goes on from its middle takes the rates that it would have taken. Knows no libtorch.
//
// With s the step counted from 0 over all epochs, W the warm-up, T all steps of the run, E the
// steps of an epoch:
//   constant  f(s) = lr
//   step      f(s) = lr * decay^floor(floor(s / E) / epochs)
//   cosine    f(s) = min + (lr - min) * (1 + cos(pi * p)) / 2, p = (s - W) / (T - 1 - W), from 0
//             to 1: lr up to the end of the warm-up, min at the last step
// and in the warm-up, s < W, the rate is f(s) * (s + 1) / (W + 1).
#pragma once

#include <cstdint>

#include "trainer/options/control_options.h"

namespace halograph {

// How long a run is.
struct RunLength {
  int64_t steps = 1;            // all that it takes, of every rank
  int64_t steps_per_epoch = 1;  // at least 1
};

// Of a run of so many epochs, up to `most_steps`; 0: all of them.
[[nodiscard]] RunLength LengthOfRun(int64_t epochs, int64_t steps_per_epoch, int64_t most_steps);

// The rate of the step `step`, from 0 over the whole run. `base`: the rate that the schedule begins
// with (--lr). With the constant schedule and no warm-up it is `base` itself, bit for bit. Requires
// 0 <= step; from length.steps on the cosine stays at its end.
[[nodiscard]] double LearningRate(const ControlOptions& options, double base, int64_t step,
                                  const RunLength& length);

}  // namespace halograph
