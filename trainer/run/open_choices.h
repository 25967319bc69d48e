// What the options of a run leave open until its graph and its task are known, and what they come
// to then.
#pragma once

#include <vector>

#include "common/base/status.h"
#include "common/graph/schema.h"
#include "trainer/models/registry.h"
#include "trainer/options/embedding_options.h"
#include "trainer/run/prepare.h"
#include "trainer/training/session.h"

namespace halograph {

// The node types whose inputs are learnt by a run of these options, whose model may be auto. Errors
// as ResolveModel, ModelOptions::OwnInputs and ChooseLearntTypes.
[[nodiscard]] StatusOr<std::vector<LearntType>> LearntTypesOf(const TrainOptions& options,
                                                              const Schema& schema);

// What the model takes in. Requires open stores and a resolved model. Errors as LearntTypesOf and
// ChooseInputs.
[[nodiscard]] StatusOr<RunInputs> ChooseInputsOf(const Session& session, const ModelKind& kind);

// The following require an open task, and change session.options.
//
// How many epochs, where the options leave it open.
void ResolveEpochs(Session& session);
// What was left open becomes what was chosen: then a log and a checkpoint say the same, and a run
// that is repeated from either goes on with the other. Where several node types have features,
// names stay as they were given.
void ResolveChoices(Session& session, const RunInputs& inputs);
// What is predicted of a node. InvalidArgument: --predict, of what the task does not give.
[[nodiscard]] Status ResolvePredict(Session& session);

}  // namespace halograph
