// What the model makes of rows that it is not trained on: the task's metric of a set, and
// predictions for nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/status.h"
#include "trainer/output/prediction_file.h"
#include "trainer/training/session.h"

namespace halograph {

// What a set comes to, over all ranks.
struct SetFigures {
  double metric = 0;                   // the task's; NaN where its rows do not tell, but others do
  double loss = 0;                     // over its rows, by TrainingTask::LossWeight
  std::vector<MetricValue> more = {};  // TrainingTask::MoreMetrics
};

struct Evaluation {
  // None: no such set, no metric that its rows tell, or stopped.
  std::optional<SetFigures> figures = {};
  bool stopped = false;  // by a signal to some rank, on all ranks alike
};

// Evaluates the set `purpose`; the same figures on each rank. Sampling is seeded by `purpose`
// alone, so the same weights give the same answer. A task with a sweep (TrainingTask::StartSweep)
// is evaluated in two passes, over the set and over all nodes of the types that the sweep names.
// Errors as BatchFeed::Next and Communicator.
[[nodiscard]] StatusOr<Evaluation> Evaluate(Session& session, BatchPurpose purpose);

// The share of the most frequent class among the rows of a set, over all ranks: what naming it
// always would reach. nullopt where no row has a class, or the task has no such set.
[[nodiscard]] StatusOr<std::optional<double>> MostFrequentShare(Session& session, BatchPurpose set);

// Columns of what Predict makes.
[[nodiscard]] int64_t PredictionColumns(const Session& session);
// How many nodes options.predict_nodes asks for, of all ranks.
[[nodiscard]] int64_t PredictionRows(const Session& session);

// What options.predict_what asks for, of every node that options.predict_nodes asks for, with
// original ids, and node types where there are several: all of them on rank 0, none on the others.
// Requires a task that can predict. A stop signal does not end it.
[[nodiscard]] StatusOr<Predictions> Predict(Session& session);

}  // namespace halograph
