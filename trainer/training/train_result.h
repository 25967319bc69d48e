// What an epoch of training, and a whole run, come to.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/storage/json.h"
#include "trainer/output/epoch_figures.h"
#include "trainer/tasks/task.h"
#include "trainer/training/early_stopping.h"
#include "trainer/training/evaluation.h"
#include "trainer/training/thread_search.h"

namespace halograph {

// What the steps of an epoch so far add up to on one rank, before the ranks have met.
struct EpochSums {
  EpochFigures figures;
  std::vector<double> metric;  // Metric::sums of them, or none yet
};

// One epoch of training, over all ranks; or of one that is not done yet, what it came to so far.
struct EpochStats {
  int64_t epoch = 0;    // from 0, as in the batch seeds
  int64_t step = 0;     // steps of the whole run at its end
  bool within = false;  // an evaluation in the middle of the epoch: figures are of its steps so far
  EpochFigures figures;
  double train_metric = 0;  // the task's metric of the minibatches as they were trained on
  std::vector<MetricValue> train_more;  // and its further ones
  // None: no such set, or not evaluated after this epoch.
  std::optional<SetFigures> valid;
  std::optional<SetFigures> test;
};
// A line of the log. `metric`: Metric::key.
[[nodiscard]] Json ToJson(const EpochStats& stats, std::string_view metric);

// What ended training.
enum class EndedBy : uint8_t { kEpochs, kMaxSteps, kTimeLimit, kPatience, kSignal };
// As the option is called: "max-steps"; "signal".
[[nodiscard]] std::string_view NameOf(EndedBy rule);

struct TrainResult {
  // The first of the best validation metric; the last without such a set. None: a signal came
  // before the first evaluation was done.
  std::optional<EpochStats> best;
  // The best validation metric of the first three quarters of the epochs asked for.
  std::optional<double> earlier;
  EarlyStopping::State gains;  // of the evaluations so far
  int64_t epochs = 0;          // that are done, the last one as far as a limit let it come
  int64_t steps = 0;           // of the whole run at their end
  int64_t evaluated = -1;      // steps of the run when it was evaluated last; -1: never
  bool stopped = false;        // by a signal to some rank: all ranks stopped at the same step
  EndedBy ended_by = EndedBy::kEpochs;
  // Whether something else than the number of epochs has ended training.
  [[nodiscard]] bool Ended() const { return ended_by != EndedBy::kEpochs; }
  double train_seconds = 0;  // over epochs
  double eval_seconds = 0;
  double sampled_edges = 0;
  std::optional<ThreadSplit> threads;  // that --tune chose
};

// Takes an evaluation of a run of `epochs` epochs into best and earlier. Whether it is the best so
// far: without a metric the last counts, but one that has none is no better than one that has.
[[nodiscard]] bool TakeIfBest(const EpochStats& stats, bool higher_is_better, int64_t epochs,
                              TrainResult* result);

}  // namespace halograph
