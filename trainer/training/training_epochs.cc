// TrainingLoop: epochs, evaluations between steps, and what ends training.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "common/base/stopwatch.h"
#include "common/base/wall_clock.h"
#include "trainer/distributed/buffer_average.h"
#include "trainer/training/torch_error.h"
#include "trainer/training/training_loop.h"

namespace halograph {

StatusOr<TrainResult> TrainingLoop::Run() {
  const TrainOptions& options = session_.options;
  if (options.control.patience > 0 && session_.task->source(BatchPurpose::kValid) == nullptr) {
    return FailedPrecondition("--patience: task '{}' has no validation set", session_.task->name());
  }
  result_.steps = first_epoch_ * length_.steps_per_epoch;  // what is under way is counted later
  try {
    if (keeper_ != nullptr) HG_RETURN_IF_ERROR(keeper_->KeepFirst(Moment()));
    bool told = true;
    if (!WasDone()) {
      HG_ASSIGN_OR_RETURN(told, RunEpochs());
    }
    if (keeper_ != nullptr) HG_RETURN_IF_ERROR(keeper_->KeepLast(Moment()));
    if (told) HG_RETURN_IF_ERROR(CountUnderWay());
    HG_RETURN_IF_ERROR(PutBackBest());
  } catch (const std::exception& error) {
    return TorchError(options.rank, "training", error);
  }
  const bool cut = length_.steps < options.epochs * length_.steps_per_epoch;
  if (!Ended() && cut) result_.ended_by = EndedBy::kMaxSteps;
  if (result_.stopped) result_.ended_by = EndedBy::kSignal;
  return result_;
}

bool TrainingLoop::WasDone() {
  const int64_t steps = first_epoch_ * length_.steps_per_epoch + first_step_;
  if (result_.evaluated != steps) return false;  // the evaluation is left to do
  if (steps >= length_.steps) return true;
  if (!early_stopping_.UsedUp(result_.gains)) return false;
  result_.ended_by = EndedBy::kPatience;
  return true;
}

StatusOr<bool> TrainingLoop::RunEpochs() {
  const TrainOptions& options = session_.options;
  const int64_t of_length = (length_.steps + length_.steps_per_epoch - 1) / length_.steps_per_epoch;
  // An epoch under way is evaluated, also if the run has been made shorter than what was taken.
  const int64_t epochs = std::max(of_length, first_epoch_ + (first_step_ > 0 ? 1 : 0));
  for (int64_t epoch = first_epoch_; epoch < epochs && !Ended(); ++epoch) {
    const int64_t first_step = epoch == first_epoch_ ? first_step_ : 0;
    HG_ASSIGN_OR_RETURN(EpochStats stats, RunSteps(epoch, first_step, kToItsEnd));
    if (result_.stopped) return false;
    const bool due = options.eval_every > 0 && (epoch + 1) % options.eval_every == 0;
    const bool last = epoch + 1 == epochs || Ended();
    const bool evaluated = result_.evaluated == stats.step;  // within it
    if (!evaluated && (due || last || DueAfterStep(stats.step))) {
      HG_RETURN_IF_ERROR(EvaluateSets(&stats));
    }
    if (!result_.stopped && stats.step == (epoch + 1) * length_.steps_per_epoch) CloseEpoch(stats);
    stats.figures[Figure::kTime] = SecondsSince1970();
    HG_RETURN_IF_ERROR(on_epoch_(stats));
    if (result_.stopped) break;
  }
  return true;
}

void TrainingLoop::CloseEpoch(const EpochStats& stats) {
  Count(stats);
  next_epoch_ = stats.epoch + 1;
  next_step_ = 0;
  under_way_ = {};
}

void TrainingLoop::Count(const EpochStats& stats) {
  result_.epochs = stats.epoch + 1;
  result_.steps = stats.step;
  result_.train_seconds += stats.figures[Figure::kSeconds];
  result_.sampled_edges += stats.figures[Figure::kSampledEdges];
}

Status TrainingLoop::CountUnderWay() {
  if (next_step_ == 0) return OkStatus();
  EpochStats stats = StatsUnderWay(next_epoch_, next_step_);
  HG_RETURN_IF_ERROR(Reduce(&stats));
  Count(stats);
  return OkStatus();
}

EpochStats TrainingLoop::StatsUnderWay(int64_t epoch, int64_t step) const {
  EpochStats stats;
  stats.epoch = epoch;
  stats.step = epoch * length_.steps_per_epoch + step;
  stats.figures = under_way_.figures;
  return stats;
}

void TrainingLoop::CountSeconds() {
  under_way_.figures[Figure::kSeconds] += lap_.Seconds();
  lap_ = Stopwatch();
}

StatusOr<EpochStats> TrainingLoop::RunEpoch(int64_t epoch, int64_t first_step, int64_t end_step) {
  under_way_ = {};
  return RunSteps(epoch, first_step, end_step);
}

StatusOr<EpochStats> TrainingLoop::RunSteps(int64_t epoch, int64_t first_step, int64_t end_step) {
  lap_ = Stopwatch();
  session_.model->train();
  if (first_step == 0) under_way_ = {};
  under_way_.metric.resize(session_.task->metric().sums, 0);
  const int64_t before = epoch * length_.steps_per_epoch;
  const int64_t steps = std::min({length_.steps_per_epoch, length_.steps - before, end_step});
  EpochStats stats = StatsUnderWay(epoch, first_step);
  // Whoever goes on from the middle of an epoch may have left before its evaluation.
  const bool left_out = first_step > 0 && first_step < steps && DueAfterStep(stats.step);
  if (left_out && result_.evaluated != stats.step) {
    HG_RETURN_IF_ERROR(EvaluateWithin(&stats));
    if (result_.stopped) return stats;
  }
  for (int64_t step = first_step; step < steps && !Ended(); ++step) {
    HG_RETURN_IF_ERROR(Step(epoch, step, &under_way_.figures));
    if (result_.stopped) return stats;
    stats.step = before + step + 1;
    if (step + 1 == steps || Ended() || !DueAfterStep(stats.step)) continue;
    HG_RETURN_IF_ERROR(EvaluateWithin(&stats));
    if (result_.stopped) return stats;
  }
  CountSeconds();
  stats.figures = under_way_.figures;
  HG_RETURN_IF_ERROR(Reduce(&stats));
  return stats;
}

bool TrainingLoop::TimeIsUp() const {
  const auto limit = session_.options.control.time_limit;
  return limit.count() > 0 &&
         session_.since_start.Seconds() >= std::chrono::duration<double>(limit).count();
}

bool TrainingLoop::DueAfterStep(int64_t steps) const {
  const int64_t every = session_.options.control.eval_every_steps;
  return every > 0 && steps % every == 0;
}

Status TrainingLoop::EvaluateWithin(EpochStats* stats) {
  CountSeconds();
  EpochStats so_far = *stats;
  so_far.within = true;
  so_far.figures = under_way_.figures;
  HG_RETURN_IF_ERROR(Reduce(&so_far));
  HG_RETURN_IF_ERROR(EvaluateSets(&so_far));
  if (result_.stopped) return OkStatus();
  if (Ended()) {
    stats->valid = so_far.valid;
    stats->test = so_far.test;
  }
  session_.model->train();
  so_far.figures[Figure::kTime] = SecondsSince1970();
  const Status told = on_epoch_(so_far);
  lap_ = Stopwatch();
  return told;
}

Status TrainingLoop::EvaluateSets(EpochStats* stats) {
  const Stopwatch watch;
  HG_RETURN_IF_ERROR(AverageBuffers(*session_.model, *session_.ranks));
  for (const auto& [purpose, figures] :
       {std::pair{BatchPurpose::kValid, &stats->valid}, {BatchPurpose::kTest, &stats->test}}) {
    HG_ASSIGN_OR_RETURN(const Evaluation evaluated, Evaluate(session_, purpose));
    result_.stopped = evaluated.stopped;
    if (result_.stopped) {
      stats->valid.reset();
      return OkStatus();
    }
    *figures = evaluated.figures;
  }
  stats->figures[Figure::kEvalSeconds] = watch.Seconds();
  result_.eval_seconds += watch.Seconds();
  result_.evaluated = stats->step;
  return Remember(*stats);
}

Status TrainingLoop::Remember(const EpochStats& stats) {
  const double metric = stats.valid.has_value() ? stats.valid->metric : std::nan("");
  const bool last = stats.step >= length_.steps;
  const bool no_gain = early_stopping_.Add(metric, &result_.gains);
  if (no_gain && !last && !Ended()) result_.ended_by = EndedBy::kPatience;
  const bool better = TakeIfBest(stats, session_.task->metric().higher_is_better,
                                 session_.options.epochs, &result_);
  if (!better) return OkStatus();
  if (session_.learnt != nullptr) {
    HG_ASSIGN_OR_RETURN(const bool kept, keeper_ == nullptr ? StatusOr<bool>(false)
                                                            : keeper_->KeepBestInputs(stats.step));
    if (!kept) {
      best_weights_.Forget();
      return OkStatus();
    }
  }
  best_weights_.Keep();
  return OkStatus();
}

Status TrainingLoop::PutBackBest() {
  if (session_.learnt != nullptr) {
    if (keeper_ == nullptr || best_weights_.kept().empty()) return OkStatus();
    HG_ASSIGN_OR_RETURN(const bool inputs, keeper_->PutBackBestInputs());
    if (!inputs) return OkStatus();  // the last weights belong to the rows that are there
  }
  best_weights_.PutBack();
  return OkStatus();
}

}  // namespace halograph
