// Where infer and evaluate have the rows from that the weights of a checkpoint go with: rows that
// were learnt are in no checkpoint's file, but where the run kept them.
#pragma once

#include "client/open/chosen_state.h"
#include "common/base/status.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/launch/infer_options.h"
#include "trainer/run/prepare.h"
#include "trainer/training/session.h"

namespace halograph {

// What OpenStoresWith asks: on the run's own graph the state of --state, else that with the
// checkpoints (OwnStateOf); on another graph none, since it has rows of the run's, which
// FindLearntRows takes. Both outlive it. Errors as ReadTrainedAs.
[[nodiscard]] ChooseState ChooseStateOfInference(const TrainOptions& options,
                                                 const InferOptions& infer);

// Sees to it that the stores have the rows that the run learnt, if it learnt any; on another graph
// than the run's, those of nodes that have the same original ids (GiveRowsOfRun). Servers of
// another graph are taken at their word, with a warning. Requires Prepare; before OpenLearntInputs.
//   FailedPrecondition  there are none: what to do; or as CheckFitsGraph
//   else                as GiveRowsOfRun and TensorAdmin::List
[[nodiscard]] Status FindLearntRows(Session& session, const RunInputs& inputs,
                                    const InferOptions& infer);

// On the run's own graph sees to it that the state folder says which original ids its rows have, as
// training does (KeepRowNames): servers and older builds did not. What it cannot write is warned
// of. Requires OpenLearntInputs.
void KeepLearntNames(const Session& session, const RunInputs& inputs, const InferOptions& infer);

// Whether weights fit the graph, which may be another one than the run's. Requires an open task.
// FailedPrecondition: it is another one, and weights of `trained_on` (none: an older build did not
// say what they depend on) cannot be used on it: as CheckFits.
[[nodiscard]] Status CheckFitsGraph(const Session& session, const RunInputs& inputs,
                                    const std::string& trained_graph,
                                    const std::optional<TrainedOn>& trained_on,
                                    const std::string& where);

// Warns if the rows in the stores are those of another step than the weights.
void SayIfRowsAreOfAnotherMoment(const Session& session, const StoredCheckpoint& stored,
                                 WhichWeights loaded);

}  // namespace halograph
