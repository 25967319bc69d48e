#include "trainer/training/run_rules.h"

#include <chrono>

#include "trainer/seeds/labeled_seeds.h"

namespace halograph {

RunRules::RunRules(const Session& session)
    : session_(session),
      early_stopping_(session.options.control.patience, session.options.control.min_delta,
                      session.task->metric().higher_is_better) {}

Status RunRules::Check() const {
  if (session_.options.control.patience == 0) return OkStatus();
  const Schema& schema = session_.stores.graph->info().schema;
  HG_ASSIGN_OR_RETURN(const int task, ChooseTask(schema, session_.task->name()));
  if (HasRows(schema.tasks[task], "valid")) return OkStatus();
  return FailedPrecondition("--patience: task '{}' has no validation set", session_.task->name());
}

bool RunRules::TimeIsUp() const {
  const auto limit = session_.options.control.time_limit;
  return limit.count() > 0 &&
         session_.since_start.Seconds() >= std::chrono::duration<double>(limit).count();
}

bool RunRules::DueAfterEpochs(int64_t first, int64_t end) const {
  const int64_t every = session_.options.eval_every;
  return every > 0 && end / every > first / every;
}

bool RunRules::DueAfterStep(int64_t steps) const {
  const int64_t every = session_.options.control.eval_every_steps;
  return every > 0 && steps % every == 0;
}

bool RunRules::WasDone(int64_t steps, bool last, TrainResult* result) const {
  if (result->evaluated != steps) return false;  // the evaluation is left to do
  if (last) return true;
  if (!early_stopping_.UsedUp(result->gains)) return false;
  result->ended_by = EndedBy::kPatience;
  return true;
}

bool RunRules::Take(const EpochStats& stats, bool last, TrainResult* result) const {
  result->evaluated = stats.step;
  result->eval_seconds += stats.figures[Figure::kEvalSeconds];
  const double metric = stats.valid.has_value() ? stats.valid->metric : std::nan("");
  const bool no_gain = early_stopping_.Add(metric, &result->gains);
  if (no_gain && !last && !result->Ended()) result->ended_by = EndedBy::kPatience;
  return TakeIfBest(stats, session_.task->metric().higher_is_better, session_.options.epochs,
                    result);
}

EpochStats RunRules::LeftToEvaluate(int64_t epoch, int64_t step) const {
  EpochStats stats;
  stats.epoch = epoch;
  stats.step = step;
  stats.figures[Figure::kLoss] = stats.train_metric = std::nan("");
  const std::vector<double> none(session_.task->metric().sums);
  stats.train_more = session_.task->MoreMetrics(none);
  for (MetricValue& more : stats.train_more) more.value = std::nan("");
  return stats;
}

}  // namespace halograph
