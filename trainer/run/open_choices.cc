#include "trainer/run/open_choices.h"

#include <algorithm>

#include "trainer/launch/auto_model.h"
#include "trainer/pipeline/batch_schedule.h"
#include "trainer/run/feature_scales.h"

namespace halograph {

StatusOr<std::vector<LearntType>> LearntTypesOf(const TrainOptions& options, const Schema& schema) {
  TrainOptions resolved = options;
  HG_RETURN_IF_ERROR(ResolveModel(schema, &resolved));
  const ModelOptions& of_model = *resolved.model_options;
  return of_model.OwnInputsBy().empty() ? ChooseLearntTypes(resolved.embeddings, schema)
                                        : of_model.OwnInputs(schema);
}

StatusOr<RunInputs> ChooseInputsOf(const Session& session, const ModelKind& kind) {
  const TrainOptions& options = session.options;
  const Schema& schema = session.stores.graph->info().schema;
  RunInputs inputs;
  HG_ASSIGN_OR_RETURN(inputs.learnt, LearntTypesOf(options, schema));
  std::vector<int> learnt;
  for (const LearntType& type : inputs.learnt) learnt.push_back(type.node_type);
  HG_ASSIGN_OR_RETURN(inputs.features,
                      ChooseInputs(kind, schema, options.features, options.normalization, learnt));
  TakeFeatureScales(session.feature_scales, &inputs.features);
  return inputs;
}

void ResolveEpochs(Session& session) {
  TrainOptions& options = session.options;
  if (options.epochs > 0) return;
  const SeedSource& train = *session.task->source(BatchPurpose::kTrain);
  const int64_t steps = std::max<int64_t>(1, session.Shards(train).Steps(options.batch_size));
  const int64_t most = options.control.max_steps;
  options.epochs = most > 0 ? (most + steps - 1) / steps : DefaultEpochs(steps);
}

void ResolveChoices(Session& session, const RunInputs& inputs) {
  session.task->Resolve(&session.options.tasks);
  const std::vector<NodeInput>& chosen = inputs.features;
  if (chosen.empty() || chosen.front().node_type != chosen.back().node_type) return;
  session.options.features.clear();
  for (const NodeInput& input : chosen) session.options.features.push_back(input.feature.name);
}

Status ResolvePredict(Session& session) {
  TrainOptions& options = session.options;
  const TrainingTask& task = *session.task;
  if (options.predict.empty()) return OkStatus();
  if (task.predicts_outputs()) {
    if (options.predict_what == PredictWhat::kEmbeddings &&
        options.predict_nodes == PredictNodes::kAll) {
      return OkStatus();
    }
    return InvalidArgument(
        "--predict: task '{}' is about edges, and nodes have embeddings only: give --predict-what "
        "embeddings, and --predict-nodes all or not at all",
        task.name());
  }
  if (!task.can_predict()) {
    return InvalidArgument("--predict: task '{}' predicts nothing for nodes; leave the option out",
                           task.name());
  }
  HG_ASSIGN_OR_RETURN(options.predict_what, task.WhatToPredict(options.predict_what));
  return OkStatus();
}

}  // namespace halograph
