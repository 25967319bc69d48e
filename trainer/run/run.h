// A whole run of halograph-train. Knows no torch in its header.
#pragma once

#include "common/base/status.h"
#include "common/program/stop_signal.h"
#include "trainer/options/train_options.h"

namespace halograph {

// Opens the graph, joins the ranks, trains, evaluates, writes log and predictions, prints the
// result table (rank 0). `options` must be resolved and valid. On error every rank ends within
// the timeout, all threads are joined, and the log ends with {"error": ...}.
[[nodiscard]] Status RunTraining(const TrainOptions& options, StopSignal& stop);

}  // namespace halograph
