// What halograph-train infer and halograph-train evaluate do with the weights of a checkpoint.
// Knows no torch in its header.
#pragma once

#include "common/base/status.h"
#include "common/program/stop_signal.h"
#include "trainer/launch/infer_options.h"
#include "trainer/options/train_options.h"

namespace halograph {

// Opens the graph, joins the ranks, gives them the weights that rank 0 loads, and writes
// options.predict, of several node types a file each (infer), or prints the metrics of the
// validation and test sets (evaluate). `options` are resolved and valid, and as
// the checkpoint says (ApplyTrainedAs). The log gets the configuration and a last line
// (docs/inference.md). On error every rank ends within the timeout, and the log with
// {"error": ...}.
//   FailedPrecondition  the weights do not fit the graph (CheckFits), or learnt inputs are not in
//                       the store: what was found and expected is named
//   else                as Prepare, ReadNewestCheckpoint, LoadWeights, InferExactly, Predict,
//                       Evaluate, PredictionFiles::Write and ChooseNodes
[[nodiscard]] Status RunInference(TrainCommand command, const TrainOptions& options,
                                  const InferOptions& infer, StopSignal& stop);

}  // namespace halograph
