// What the trainer marks rows of options with, where they are added (OptionRow::Mark). Whoever
// treats some options otherwise than the rest asks the rows for their marks. Knows no libtorch.
#pragma once

#include <string>
#include <vector>

#include "common/program/options.h"

namespace halograph {

struct TrainOptions;

// Of options that all ranks share; no checkpoint has the others.
// No step depends on it: a run that goes on may be told another value than the one before it.
inline constexpr OptionMarks kMayDifferOnResume = 1 << 0;
// How long the run is. Likewise, unless the learning rate comes down towards the last step.
inline constexpr OptionMarks kRunLength = 1 << 1;
// infer and evaluate do not take it over as the checkpoint has it: how much was trained, by whom,
// and what was left. Also what the checkpoint says in a field of its own.
inline constexpr OptionMarks kNotInherited = 1 << 2;
// What the weights mean, beside the model's own options: infer and evaluate must have it alike.
inline constexpr OptionMarks kPartOfModel = 1 << 3;

// Of any options.
// A run that is repeated from a log does not take it over: where a rank stood, and what was
// written.
inline constexpr OptionMarks kNotRepeated = 1 << 4;
// A model without neighbours has no use for it.
inline constexpr OptionMarks kOfNeighbors = 1 << 5;
// Only training has a use for it: infer and evaluate do not take it on the command line, and leave
// it aside in a file, which may be that of the run.
inline constexpr OptionMarks kOfTraining = 1 << 6;
// Where a run writes what: infer and evaluate leave it aside in a file, too.
inline constexpr OptionMarks kOfOutput = 1 << 7;
// What is predicted: evaluate takes it nowhere, and leaves it aside in a file.
inline constexpr OptionMarks kOfPredictions = 1 << 8;

// Keys of the options that have one of the marks, those of the model included if it is set.
[[nodiscard]] std::vector<std::string> MarkedKeys(const TrainOptions& options, OptionMarks marks);

}  // namespace halograph
