// What a run needs before it computes anything: graph, task, ranks, makers of minibatches, learnt
// inputs and model. Training and inference begin alike.
//
// Call in this order: SetUpComputation, SetUpThread, Prepare, OpenLearntInputs, MakeModel.
#pragma once

#include <vector>

#include "common/base/status.h"
#include "trainer/launch/infer_options.h"
#include "trainer/options/train_options.h"
#include "trainer/training/schedule.h"
#include "trainer/training/session.h"

namespace halograph {

// What the model takes in.
struct RunInputs {
  std::vector<NodeInput> features;
  std::vector<LearntType> learnt;
};

// Memory of libtorch and its operations at once, for the whole process. Before anything computes.
void SetUpComputation();
// Threads of the operations that this thread begins.
void SetUpThread(const TrainOptions& options);

// What makes minibatches, of stores that are open: chooses inputs, opens the task, shares threads
// out, and makes the makers. Requires session.options, session.stop and session.stores, and with
// --normalize-features standard session.feature_scales if rows are to be pulled.
[[nodiscard]] Status PrepareMinibatches(Session& session, RunInputs* inputs);

// Opens the graph and the task, fills in the options that follow from them (epochs, features, kind
// of task, what is predicted), joins the ranks, and makes the makers of minibatches. Requires
// session.options, which are resolved and valid, and session.stop. `infer`: what the command is
// told that takes its weights from a checkpoint; null: the run trains.
//   InvalidArgument, FailedPrecondition   options that the graph or the task cannot give, or that
//                                         ranks have different values of: named
//   else                                  as OpenStores, OpenTask, Communicator::Join and
//                                         FindFeatureScales
[[nodiscard]] Status Prepare(Session& session, RunInputs* inputs,
                             const InferOptions* infer = nullptr);

// Of all steps that the options and the rows come to. Where models are averaged, those of the part
// with the most rows. Requires Prepare.
[[nodiscard]] RunLength LengthOf(const Session& session);

// Looks at what a run is to learn from, and how, before it learns. Ranks that have parts alone know
// their rows only: nothing is looked at of these. Requires Prepare. Errors as
// TrainingTask::CheckRows.
[[nodiscard]] Status CheckRows(Session& session, const RunInputs& inputs);

// Requires Prepare.
//   FailedPrecondition  without servers, several ranks: what to do
//   else                as LearntInputs::Open
[[nodiscard]] Status OpenLearntInputs(Session& session, const RunInputs& inputs);

// FailedPrecondition: nothing that the task's rows are made of is learnt: types and what to do are
// named. The same on all ranks. Requires MakeModel.
[[nodiscard]] Status CheckLearns(const Session& session, const RunInputs& inputs);

// With the same weights on every rank. Requires Prepare. Errors as Communicator::Broadcast.
[[nodiscard]] Status MakeModel(Session& session, const RunInputs& inputs);

}  // namespace halograph
