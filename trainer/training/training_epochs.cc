// TrainingLoop: epochs, evaluations between steps, and what ends training.
#include <algorithm>

#include "common/base/stopwatch.h"
#include "common/base/wall_clock.h"
#include "trainer/distributed/buffer_average.h"
#include "trainer/training/step_trace.h"
#include "trainer/training/torch_error.h"
#include "trainer/training/training_loop.h"

namespace halograph {

StatusOr<TrainResult> TrainingLoop::Run() {
  const TrainOptions& options = session_.options;
  HG_RETURN_IF_ERROR(rules_.Check());
  metrics_->GoOnFrom(steps_done_);
  result_.steps = first_epoch_ * length_.steps_per_epoch;  // what is under way is counted later
  try {
    if (keeper_ != nullptr) HG_RETURN_IF_ERROR(keeper_->KeepFirst(Moment()));
    if (tuner_.has_value()) HG_RETURN_IF_ERROR(tuner_->Begin());
    bool told = true;
    const int64_t steps = result_.steps + first_step_;
    if (!rules_.WasDone(steps, steps >= length_.steps, &result_)) {
      HG_ASSIGN_OR_RETURN(told, RunEpochs());
    }
    if (tuner_.has_value()) HG_RETURN_IF_ERROR(tuner_->End());
    feed_.End();  // learnt rows may be put back now
    if (keeper_ != nullptr) HG_RETURN_IF_ERROR(keeper_->KeepLast(Moment()));
    if (told) HG_RETURN_IF_ERROR(CountUnderWay());
    HG_RETURN_IF_ERROR(PutBackBest());
  } catch (const std::exception& error) {
    return TorchError(options.rank, "training", error);
  }
  const bool cut = length_.steps < options.epochs * length_.steps_per_epoch;
  if (!result_.Ended() && cut) result_.ended_by = EndedBy::kMaxSteps;
  if (result_.stopped) result_.ended_by = EndedBy::kSignal;
  return result_;
}

StatusOr<bool> TrainingLoop::RunEpochs() {
  const int64_t of_length = (length_.steps + length_.steps_per_epoch - 1) / length_.steps_per_epoch;
  // What stands there is evaluated, also if the run has been made shorter than what was taken.
  if (first_epoch_ >= of_length && first_step_ == 0) {
    HG_RETURN_IF_ERROR(EvaluateStart());
    return true;
  }
  const int64_t epochs = std::max(of_length, first_epoch_ + (first_step_ > 0 ? 1 : 0));
  for (int64_t epoch = first_epoch_; epoch < epochs && !result_.Ended(); ++epoch) {
    const int64_t first_step = epoch == first_epoch_ ? first_step_ : 0;
    HG_ASSIGN_OR_RETURN(EpochStats stats, RunSteps(epoch, first_step, kToItsEnd));
    if (result_.stopped) return false;
    const bool due = rules_.DueAfterEpochs(epoch, epoch + 1) || rules_.DueAfterStep(stats.step);
    const bool last = epoch + 1 == epochs || result_.Ended();
    const bool evaluated = result_.evaluated == stats.step;  // within it
    if (!evaluated && (due || last)) {
      HG_RETURN_IF_ERROR(EvaluateSets(&stats));
    }
    if (!result_.stopped && stats.step == (epoch + 1) * length_.steps_per_epoch) CloseEpoch(stats);
    stats.figures[Figure::kTime] = SecondsSince1970();
    HG_RETURN_IF_ERROR(on_epoch_(stats));
    if (result_.stopped) break;
  }
  return true;
}

Status TrainingLoop::EvaluateStart() {
  EpochStats stats = rules_.LeftToEvaluate(first_epoch_ - 1, result_.steps);
  HG_RETURN_IF_ERROR(EvaluateSets(&stats));
  if (result_.stopped) return OkStatus();
  stats.figures[Figure::kTime] = SecondsSince1970();
  return on_epoch_(stats);
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

void TrainingLoop::StartLap() {
  lap_ = Stopwatch();
  lap_stages_ = feed_.StageTimes();
  lap_calls_.clear();
}

void TrainingLoop::CountSeconds() {
  under_way_.figures[Figure::kSeconds] += lap_.Seconds();
  lap_ = Stopwatch();
  std::vector<BatchFeed::StageTime> now = feed_.StageTimes();
  for (size_t stage = 0; stage < now.size(); ++stage) {
    StageSeconds spent = now[stage].seconds;
    spent -= lap_stages_[stage].seconds;
    under_way_.figures.AddStage(now[stage].name, {spent.busy, spent.starved, spent.blocked});
    const LapCalls& calls = lap_calls_[now[stage].name];
    // Several steps at once waited for a server together.
    const double all = spent.busy + spent.starved + spent.blocked;
    const double at_once = all > 0 ? std::max(1.0, calls.under_way / all) : 1.0;
    for (size_t server = 0; server < calls.servers.size(); ++server) {
      if (calls.servers[server] == 0) continue;
      under_way_.figures.AddServerWait(now[stage].name, session_.stores.servers.at(server),
                                       calls.servers[server] / at_once);
    }
  }
  lap_calls_.clear();
  if (session_.cache != nullptr) {
    under_way_.figures[Figure::kCacheEnough] = static_cast<double>(session_.cache->enough_bytes());
  }
  lap_stages_ = std::move(now);
}

StatusOr<EpochStats> TrainingLoop::RunEpoch(int64_t epoch, int64_t first_step, int64_t end_step) {
  under_way_ = {};
  return RunSteps(epoch, first_step, end_step);
}

StatusOr<EpochStats> TrainingLoop::RunSteps(int64_t epoch, int64_t first_step, int64_t end_step) {
  metrics_->SetPhase(RunPhase::kTraining);
  metrics_->SetEpoch(epoch);
  const StepClock::Doing busy(&metrics_->clock(), StageState::kBusy);
  StartLap();
  session_.model->train();
  if (first_step == 0) {
    under_way_ = {};
    under_way_.figures[Figure::kRowForecast] = session_.row_forecast;
  }
  under_way_.metric.resize(session_.task->metric().sums, 0);
  const int64_t before = epoch * length_.steps_per_epoch;
  const int64_t steps = std::min({length_.steps_per_epoch, length_.steps - before, end_step});
  EpochStats stats = StatsUnderWay(epoch, first_step);
  // Whoever goes on from the middle of an epoch may have left before its evaluation.
  const bool left_out = first_step > 0 && first_step < steps && rules_.DueAfterStep(stats.step);
  if (left_out && result_.evaluated != stats.step) {
    HG_RETURN_IF_ERROR(EvaluateWithin(&stats));
    if (result_.stopped) return stats;
  }
  for (int64_t step = first_step; step < steps && !result_.Ended(); ++step) {
    HG_RETURN_IF_ERROR(TakeStep(epoch, step, &under_way_.figures));
    if (result_.stopped) return stats;
    stats.step = before + step + 1;
    if (step + 1 == steps || result_.Ended() || !rules_.DueAfterStep(stats.step)) continue;
    HG_RETURN_IF_ERROR(EvaluateWithin(&stats));
    if (result_.stopped) return stats;
  }
  HG_RETURN_IF_ERROR(late_.TakeAllBut(0));
  CountSeconds();
  stats.figures = under_way_.figures;
  session_.row_forecast = stats.figures[Figure::kCacheHits] + stats.figures[Figure::kCacheMisses];
  HG_RETURN_IF_ERROR(Reduce(&stats));
  return stats;
}

Status TrainingLoop::EvaluateWithin(EpochStats* stats) {
  HG_RETURN_IF_ERROR(late_.TakeAllBut(0));
  CountSeconds();
  EpochStats so_far = *stats;
  so_far.within = true;
  so_far.figures = under_way_.figures;
  HG_RETURN_IF_ERROR(Reduce(&so_far));
  HG_RETURN_IF_ERROR(EvaluateSets(&so_far));
  if (result_.stopped) return OkStatus();
  if (result_.Ended()) {
    stats->valid = so_far.valid;
    stats->test = so_far.test;
  }
  session_.model->train();
  so_far.figures[Figure::kTime] = SecondsSince1970();
  const Status told = on_epoch_(so_far);
  StartLap();
  return told;
}

Status TrainingLoop::EvaluateSets(EpochStats* stats) {
  const TracedWork traced(session_, "evaluate");
  const TrainMetrics::InPhase evaluating(metrics_.get(), RunPhase::kEvaluating);
  const StepClock::Doing parked(&metrics_->clock(), StageState::kParked);
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
  return Remember(*stats);
}

Status TrainingLoop::Remember(const EpochStats& stats) {
  if (!rules_.Take(stats, stats.step >= length_.steps, &result_)) return OkStatus();
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
