#include "trainer/averaging/averaged_training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "common/base/stopwatch.h"
#include "trainer/training/torch_error.h"

namespace halograph {
namespace {

std::vector<torch::Tensor> WeightsOf(const Session& session) {
  std::vector<torch::Tensor> weights = session.Parameters();
  for (const torch::Tensor& buffer : session.model->buffers()) weights.push_back(buffer);
  return weights;
}

Optimizer OptimizerOf(const Session& session) {
  const TrainOptions& options = session.options;
  return {options.optimizer, session.Parameters(), options.learning_rate, options.weight_decay};
}

std::vector<torch::Tensor> Both(std::vector<torch::Tensor> some,
                                const std::vector<torch::Tensor>& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
}

void Copy(const std::vector<torch::Tensor>& from, const std::vector<torch::Tensor>& into) {
  for (size_t i = 0; i < into.size(); ++i) {
    torch::Tensor tensor = into[i];
    tensor.copy_(from[i]);
  }
}

// Whether an evaluation is due after one of the epochs [first, end).
bool EvaluationIsDue(const TrainOptions& options, int64_t first, int64_t end) {
  if (end == options.epochs) return true;
  return options.eval_every > 0 && end / options.eval_every > first / options.eval_every;
}

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
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
      weights_(WeightsOf(run)),
      moments_(optimizer_.Moments()),
      average_(Both(weights_, moments_)),
      best_weights_(weights_, std::move(start.best_weights)),
      result_(std::move(start.so_far)) {}

StatusOr<TrainResult> AveragedTraining::Run() {
  const TrainOptions& options = run_.options;
  try {
    Copy(optimizer_.Moments(), moments_);
    average_.Begin();
    HG_RETURN_IF_ERROR(EvaluateWhatWasLeft());
    while (!result_.stopped && result_.epochs < options.epochs) {
      const int64_t first = result_.epochs;
      const int64_t end =
          std::min((first / options.average_every + 1) * options.average_every, options.epochs);
      HG_ASSIGN_OR_RETURN(const bool stop, TrainParts(first, end));
      HG_RETURN_IF_ERROR(Average(first, end, stop));
      if (!result_.stopped) HG_RETURN_IF_ERROR(EndRound(first));
    }
    if (keeper_ != nullptr) HG_RETURN_IF_ERROR(keeper_->KeepLast(Moment()));
    best_weights_.PutBack();
  } catch (const std::exception& error) {
    return TorchError(options.rank, "training", error);
  }
  return result_;
}

StatusOr<bool> AveragedTraining::TrainParts(int64_t first, int64_t end) {
  const size_t sums = run_.task->metric().sums;
  round_.assign(static_cast<size_t>(end - first), {{}, std::vector<double>(sums)});
  for (const int part : parts_.parts()) {
    const auto stopped = TrainPart(part, first, end);
    if (!stopped.ok()) {
      // A signal cancels calls; what they then say is not the reason.
      if (run_.stop->requested()) return true;
      return Annotate(stopped.status(), fmt::format("rank {}, part {}", run_.options.rank, part));
    }
    if (*stopped) return true;
  }
  return run_.stop->requested();
}

StatusOr<bool> AveragedTraining::TrainPart(int part, int64_t first, int64_t end) {
  HG_ASSIGN_OR_RETURN(const std::unique_ptr<OpenedPart> opened, parts_.Open(part));
  Session& session = opened->session;
  const int64_t rows = session.task->source(BatchPurpose::kTrain)->rows();
  if (rows == 0) return false;
  session.options.epochs = end;
  average_.Restart();
  TrainingLoop loop(session, on_step_, [](const EpochStats&) { return OkStatus(); },
                    {.epoch = first, .step = 0});
  loop.optimizer().SetMoments(moments_);
  for (int64_t epoch = first; epoch < end; ++epoch) {
    HG_ASSIGN_OR_RETURN(const EpochStats stats, loop.RunEpoch(epoch, 0));
    if (loop.stopped()) return true;
    Add(loop, stats, &round_[static_cast<size_t>(epoch - first)]);
  }
  Copy(loop.optimizer().Moments(), moments_);
  average_.Add(rows);
  return false;
}

void AveragedTraining::Add(const TrainingLoop& loop, const EpochStats& stats, EpochSums* sums) {
  sums->figures.Add(stats.figures);
  const std::span<const double> metric = loop.metric_sums();
  for (size_t i = 0; i < metric.size(); ++i) sums->metric[i] += metric[i];
  sums->figures[Figure::kLearningRate] = stats.figures[Figure::kLearningRate];
}

Status AveragedTraining::Average(int64_t first, int64_t end, bool stop) {
  const Stopwatch watch;
  const std::string what = fmt::format(
      "average of the models of epochs {} to {} (waiting for other ranks to train their parts; "
      "--timeout bounds the wait)",
      first, end - 1);
  HG_RETURN_IF_ERROR(average_.Meet(*run_.ranks, what, &stop));
  result_.stopped = stop;
  EpochFigures& last = round_.back().figures;
  last[Figure::kSyncWait] += watch.Seconds();
  last[Figure::kSeconds] += watch.Seconds();
  return OkStatus();
}

StatusOr<std::vector<EpochStats>> AveragedTraining::OverRanks(int64_t first, bool* keep) {
  std::vector<double> own;
  for (const EpochSums& epoch : round_) {
    const std::vector<double> figures = epoch.figures.ToSum();
    own.insert(own.end(), figures.begin(), figures.end());
    own.insert(own.end(), epoch.metric.begin(), epoch.metric.end());
  }
  own.push_back(*keep ? 1 : 0);
  torch::Tensor sums = torch::tensor(own, torch::kFloat64);
  HG_RETURN_IF_ERROR(run_.ranks->AllReduceSum(sums, "all-reduce of a round's sums"));
  *keep = sums[-1].item<double>() > 0;
  std::span<const double> values(sums.data_ptr<double>(), own.size());
  std::vector<EpochStats> round;
  for (const EpochSums& epoch : round_) {
    EpochStats& stats = round.emplace_back();
    stats.epoch = first + std::ssize(round) - 1;
    stats.figures = epoch.figures;
    const size_t figures = epoch.figures.ToSum().size();
    stats.figures.Finish(values.first(figures), run_.options.world_size);
    const auto metric = values.subspan(figures, epoch.metric.size());
    stats.train_metric = run_.task->MetricOf(metric);
    stats.train_more = run_.task->MoreMetrics(metric);
    values = values.subspan(figures + epoch.metric.size());
  }
  return round;
}

Status AveragedTraining::EvaluateIfDue(int64_t first, EpochStats* last) {
  if (!EvaluationIsDue(run_.options, first, last->epoch + 1)) return OkStatus();
  const Stopwatch watch;
  const StatusOr<BothSets> sets = parts_.Evaluate();
  HG_RETURN_IF_ERROR(sets.status());
  result_.stopped = sets->stopped;
  if (result_.stopped) return OkStatus();
  last->valid = sets->valid;
  last->test = sets->test;
  last->figures[Figure::kEvalSeconds] = watch.Seconds();
  result_.eval_seconds += watch.Seconds();
  result_.evaluated = result_.steps;
  const bool higher = run_.task->metric().higher_is_better;
  if (TakeIfBest(*last, higher, run_.options.epochs, &result_)) best_weights_.Keep();
  return OkStatus();
}

Status AveragedTraining::EvaluateWhatWasLeft() {
  const int64_t every = run_.options.average_every;
  if (result_.epochs == 0 || result_.evaluated == result_.steps) return OkStatus();
  // What training came to in that round is not known any more.
  EpochStats last;
  last.epoch = result_.epochs - 1;
  last.step = result_.steps;
  last.figures[Figure::kLoss] = last.train_metric = std::nan("");
  HG_RETURN_IF_ERROR(EvaluateIfDue(last.epoch / every * every, &last));
  if (!last.valid.has_value() && !last.test.has_value()) return OkStatus();
  last.figures[Figure::kTime] = Now();
  return on_epoch_(last);
}

Status AveragedTraining::EndRound(int64_t first) {
  const int64_t before = result_.steps;
  for (const EpochSums& epoch : round_) {
    result_.steps += std::llround(epoch.figures[Figure::kSteps]);
  }
  bool keep = keeper_ != nullptr && keeper_->Wants(result_.steps);
  HG_ASSIGN_OR_RETURN(std::vector<EpochStats> round, OverRanks(first, &keep));
  int64_t steps = before;
  for (EpochStats& stats : round) {
    steps += std::llround(stats.figures[Figure::kSteps]);
    stats.step = steps;
  }
  HG_RETURN_IF_ERROR(EvaluateIfDue(first, &round.back()));
  for (EpochStats& stats : round) {
    stats.figures[Figure::kTime] = Now();
    ++result_.epochs;
    result_.train_seconds += stats.figures[Figure::kSeconds];
    result_.sampled_edges += stats.figures[Figure::kSampledEdges];
    HG_RETURN_IF_ERROR(on_epoch_(stats));
  }
  return keep && !result_.stopped ? keeper_->Keep(Moment()) : OkStatus();
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
