// Where a run that trains keeps the rows that it learns, without servers: in the folder of --state,
// or in one of its own.
#pragma once

#include <filesystem>

#include "client/open/chosen_state.h"
#include "trainer/options/train_options.h"
#include "trainer/run/prepare.h"
#include "trainer/training/session.h"

namespace halograph {

// The folder that outlasts the run: that of --state, else the one with the checkpoints; empty:
// there is none.
[[nodiscard]] std::filesystem::path LastingStateOf(const TrainOptions& options);

// Keeps in the state folder `state` which original ids the rows have that the run learns
// (KeepRowNames), so that they are found on other graphs. Requires Prepare.
[[nodiscard]] Status KeepNamesOfRows(const Session& session, const RunInputs& inputs,
                                     const std::filesystem::path& state);

// What OpenStoresWith asks. Without --state a run of one process of one rank that learns inputs has
// a state of its own, never synced but with checkpoints: OwnStateOf its --checkpoint, else in a
// RunFolder. Others have none. `options` outlive it.
//   FailedPrecondition  the run goes on from checkpoints, and the state that belongs to them is
//                       gone: what to do
//   else                as RunFolder::Make and ListCheckpoints
[[nodiscard]] ChooseState ChooseStateOfTraining(const TrainOptions& options);

}  // namespace halograph
