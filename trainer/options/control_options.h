// What a run is told of the course of training: how the learning rate changes, how long gradients
// may be, and what ends training before its last epoch. Knows no libtorch.
#pragma once

#include <chrono>
#include <cstdint>

#include "common/base/status.h"
#include "common/program/options.h"

namespace halograph {

// How the learning rate changes after the warm-up; trainer/training/schedule.h has the formulas.
enum class LrSchedule : uint8_t { kConstant, kStep, kCosine };

struct ControlOptions {
  LrSchedule lr_schedule = LrSchedule::kConstant;
  int64_t warmup_steps = 0;     // 0: none
  int64_t lr_step_epochs = 10;  // of kStep
  double lr_decay = 0.1;        // of kStep
  double lr_min = 0;            // of kCosine
  double clip_norm = 0;         // 0: gradients stay as they are

  // What ends training before its last epoch; 0: nothing of that kind.
  int64_t max_steps = 0;                   // over the whole run, those before a resume included
  int64_t patience = 0;                    // evaluations without getting better
  double min_delta = 0;                    // what better is, beside patience
  std::chrono::nanoseconds time_limit{0};  // since the run began
  int64_t eval_every_steps = 0;            // evaluations within epochs; 0: none
};

// A row for each of them, in the group that the table is at.
void AddControlRows(OptionTable& rows, ControlOptions* options);  // of rates and gradients
void AddLimitRows(OptionTable& rows, ControlOptions* options);    // of what ends training

// InvalidArgument naming the options that do not go together. `learning_rate`: --lr.
[[nodiscard]] Status CheckControl(const ControlOptions& options, double learning_rate);

}  // namespace halograph
