#include "trainer/averaging/averaged_training.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/stopwatch.h"
#include "common/base/wall_clock.h"
#include "trainer/training/torch_error.h"

namespace halograph {
namespace {

Optimizer OptimizerOf(const Session& session) {
  const TrainOptions& options = session.options;
  return {options.optimizer, session.Parameters(), options.learning_rate, options.weight_decay};
}

}  // namespace

AveragedTraining::AveragedTraining(Session& run, PartSource* parts, TrainingLoop::OnStep on_step,
                                   TrainingLoop::OnEpoch on_epoch, TrainingStart start,
                                   MomentKeeper* keeper)
    : run_(run),
      parts_(*parts),
      on_step_(std::move(on_step)),
      on_epoch_(std::move(on_epoch)),
      keeper_(keeper),
      optimizer_(OptimizerOf(run)),
      weights_(Joined(run.Parameters(), run.model->buffers())),
      moments_(optimizer_.Moments()),
      average_(Joined(weights_, moments_)),
      best_weights_(weights_, std::move(start.best_weights)),
      epoch_begin_(Joined(weights_, moments_)),
      rules_(run),
      result_(std::move(start.so_far)) {}

StatusOr<TrainResult> AveragedTraining::Run() {
  const TrainOptions& options = run_.options;
  HG_RETURN_IF_ERROR(rules_.Check());
  if (run_.metrics != nullptr) run_.metrics->GoOnFrom(result_.steps);
  try {
    Copy(optimizer_.Moments(), moments_);
    average_.Begin();
    if (!rules_.WasDone(result_.steps, result_.epochs >= options.epochs, &result_)) {
      HG_RETURN_IF_ERROR(EvaluateWhatWasLeft());
    }
    while (!result_.stopped && !result_.Ended() && result_.epochs < options.epochs) {
      const int64_t first = result_.epochs;
      const int64_t end =
          std::min((first / options.average_every + 1) * options.average_every, options.epochs);
      HG_RETURN_IF_ERROR(TrainRounds(first, end));
      if (!result_.stopped) HG_RETURN_IF_ERROR(EndEpochs(first));
    }
    if (keeper_ != nullptr) HG_RETURN_IF_ERROR(keeper_->KeepLast(Moment()));
    best_weights_.PutBack();
  } catch (const std::exception& error) {
    return TorchError(options.rank, "training", error);
  }
  if (result_.stopped) result_.ended_by = EndedBy::kSignal;
  return result_;
}

StatusOr<std::vector<EpochStats>> AveragedTraining::OverRanks(int64_t first, bool* time_up) {
  std::vector<double> own;
  for (EpochSums& epoch : epochs_) {
    epoch.figures.SetTraining();  // averaging counts as well
    const std::vector<double> figures = epoch.figures.ToSum();
    own.insert(own.end(), figures.begin(), figures.end());
    own.insert(own.end(), epoch.metric.begin(), epoch.metric.end());
    own.push_back(epoch.figures[Figure::kSteps]);
  }
  own.push_back(*time_up ? 1 : 0);
  torch::Tensor sums = torch::tensor(own, torch::kFloat64);
  HG_RETURN_IF_ERROR(run_.ranks->AllReduceSum(sums, "all-reduce of a round's sums"));
  *time_up = sums[-1].item<double>() > 0;
  std::span<const double> values(sums.data_ptr<double>(), own.size());
  std::vector<EpochStats> all;
  for (const EpochSums& epoch : epochs_) {
    EpochStats& stats = all.emplace_back();
    stats.epoch = first + std::ssize(all) - 1;
    stats.figures = epoch.figures;
    const size_t figures = epoch.figures.ToSum().size();
    stats.figures.Finish(values.first(figures), run_.options.world_size);
    // Ranks that have parts alone cannot know it before.
    if (stats.figures[Figure::kLossWeight] == 0) return run_.task->NoLabels();
    const auto metric = values.subspan(figures, epoch.metric.size());
    stats.train_metric = run_.task->MetricOf(metric);
    stats.train_more = run_.task->MoreMetrics(metric);
    stats.figures[Figure::kSteps] = values[figures + epoch.metric.size()];
    values = values.subspan(figures + epoch.metric.size() + 1);
  }
  return all;
}

Status AveragedTraining::EvaluateIfDue(int64_t first, EpochStats* last) {
  const int64_t end = last->epoch + 1;
  const bool at_end = end >= run_.options.epochs;
  if (!result_.Ended() && !at_end && !rules_.DueAfterEpochs(first, end)) return OkStatus();
  const Stopwatch watch;
  if (run_.metrics != nullptr) run_.metrics->SetPhase(RunPhase::kEvaluating);
  const StatusOr<BothSets> sets = parts_.Evaluate();
  HG_RETURN_IF_ERROR(sets.status());
  result_.stopped = sets->stopped;
  if (result_.stopped) return OkStatus();
  last->valid = sets->valid;
  last->test = sets->test;
  last->figures[Figure::kEvalSeconds] = watch.Seconds();
  if (rules_.Take(*last, at_end, &result_)) best_weights_.Keep();
  return OkStatus();
}

Status AveragedTraining::EvaluateWhatWasLeft() {
  const int64_t every = run_.options.average_every;
  if (result_.epochs == 0 || result_.evaluated == result_.steps) return OkStatus();
  EpochStats last = rules_.LeftToEvaluate(result_.epochs - 1, result_.steps);
  HG_RETURN_IF_ERROR(EvaluateIfDue(last.epoch / every * every, &last));
  if (!last.valid.has_value() && !last.test.has_value()) return OkStatus();
  last.figures[Figure::kTime] = SecondsSince1970();
  return on_epoch_(last);
}

Status AveragedTraining::EndEpochs(int64_t first) {
  bool time_up = rules_.TimeIsUp();
  HG_ASSIGN_OR_RETURN(std::vector<EpochStats> all, OverRanks(first, &time_up));
  for (EpochStats& stats : all) {
    result_.steps += std::llround(stats.figures[Figure::kSteps]);
    stats.step = result_.steps;
  }
  const bool more = all.back().epoch + 1 < run_.options.epochs;
  if (time_up && more) result_.ended_by = EndedBy::kTimeLimit;
  HG_RETURN_IF_ERROR(EvaluateIfDue(first, &all.back()));
  for (EpochStats& stats : all) {
    stats.figures[Figure::kTime] = SecondsSince1970();
    ++result_.epochs;
    result_.train_seconds += stats.figures[Figure::kSeconds];
    result_.sampled_edges += stats.figures[Figure::kSampledEdges];
    HG_RETURN_IF_ERROR(on_epoch_(stats));
  }
  return result_.stopped ? OkStatus() : KeepIfWanted();
}

Status AveragedTraining::KeepIfWanted() {
  if (keeper_ == nullptr) return OkStatus();
  torch::Tensor asks = torch::full({1}, keeper_->Wants(result_.steps) ? 1.0 : 0.0);
  HG_RETURN_IF_ERROR(run_.ranks->AllReduceSum(asks, "all-reduce of who asks for a checkpoint"));
  return asks.item<float>() > 0 ? keeper_->Keep(Moment()) : OkStatus();
}

TrainingMoment AveragedTraining::Moment() {
  optimizer_.SetMoments(moments_);
  return {.epoch = result_.epochs,
          .step = 0,
          .steps_done = result_.steps,
          .steps_per_epoch = 0,
          .so_far = result_,
          .best_weights = best_weights_.kept(),
          .optimizer = optimizer_};
}

}  // namespace halograph
