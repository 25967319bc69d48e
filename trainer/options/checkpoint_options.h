// What a run is told of checkpoints (trainer/checkpoint).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/program/options.h"

namespace halograph {

// How often a checkpoint is taken: after so many steps, or after so much time. One of them is 0.
struct CheckpointInterval {
  int64_t steps = 0;
  std::chrono::nanoseconds time = std::chrono::minutes(10);  // of work that may be lost
};

struct CheckpointOptions {
  std::string folder;  // empty: none are taken
  CheckpointInterval every;
  int keep = 3;         // one may be damaged, and one may be looked at while a run goes on
  bool resume = false;  // go on from the newest in the folder, if there is one
};

void AddCheckpointRows(OptionTable& rows, CheckpointOptions* options);
// InvalidArgument: --resume stands without --checkpoint.
[[nodiscard]] Status CheckCheckpoints(const CheckpointOptions& options);

}  // namespace halograph
