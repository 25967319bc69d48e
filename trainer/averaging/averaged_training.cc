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

// Before the first step.
std::vector<torch::Tensor> MomentsOf(const Session& session) {
  const TrainOptions& options = session.options;
  return Optimizer(options.optimizer, session.Parameters(), options.learning_rate,
                   options.weight_decay)
      .Moments();
}

std::vector<torch::Tensor> Both(std::vector<torch::Tensor> some,
                                const std::vector<torch::Tensor>& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
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
                                   TrainingLoop::OnEpoch on_epoch)
    : run_(run),
      parts_(*parts),
      on_step_(std::move(on_step)),
      on_epoch_(std::move(on_epoch)),
      weights_(WeightsOf(run)),
      moments_(MomentsOf(run)),
      average_(Both(weights_, moments_)),
      best_(weights_, run.task->metric(), run.options.epochs) {}

StatusOr<TrainResult> AveragedTraining::Run() {
  const TrainOptions& options = run_.options;
  try {
    for (int64_t first = 0; first < options.epochs; first += options.average_every) {
      const int64_t end = std::min(first + options.average_every, options.epochs);
      HG_ASSIGN_OR_RETURN(const bool stop, TrainParts(first, end));
      HG_RETURN_IF_ERROR(Average(first, end, stop));
      if (result_.stopped) break;
      HG_RETURN_IF_ERROR(EndRound(first, end));
      if (result_.stopped) break;
    }
    best_.Restore();
  } catch (const std::exception& error) {
    return TorchError(options.rank, "training", error);
  }
  result_.best = best_.best();
  result_.earlier = best_.earlier();
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
  const std::vector<torch::Tensor> moments = loop.optimizer().Moments();
  for (size_t i = 0; i < moments_.size(); ++i) {
    torch::Tensor moment = moments_[i];
    moment.copy_(moments[i]);
  }
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

StatusOr<std::vector<EpochStats>> AveragedTraining::OverRanks(int64_t first) {
  std::vector<double> own;
  for (const EpochSums& epoch : round_) {
    const std::vector<double> figures = epoch.figures.ToSum();
    own.insert(own.end(), figures.begin(), figures.end());
    own.insert(own.end(), epoch.metric.begin(), epoch.metric.end());
  }
  torch::Tensor sums = torch::tensor(own, torch::kFloat64);
  HG_RETURN_IF_ERROR(run_.ranks->AllReduceSum(sums, "all-reduce of a round's sums"));
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

Status AveragedTraining::EndRound(int64_t first, int64_t end) {
  HG_ASSIGN_OR_RETURN(std::vector<EpochStats> round, OverRanks(first));
  EpochStats& last = round.back();
  if (EvaluationIsDue(run_.options, first, end)) {
    const Stopwatch watch;
    const StatusOr<BothSets> sets = parts_.Evaluate();
    HG_RETURN_IF_ERROR(sets.status());
    result_.stopped = sets->stopped;
    if (!result_.stopped) {
      last.valid = sets->valid;
      last.test = sets->test;
      last.figures[Figure::kEvalSeconds] = watch.Seconds();
      result_.eval_seconds += watch.Seconds();
      best_.Consider(last);
    }
  }
  for (EpochStats& stats : round) {
    stats.figures[Figure::kTime] = Now();
    ++result_.epochs;
    result_.steps += std::llround(stats.figures[Figure::kSteps]);
    stats.step = result_.steps;
    result_.train_seconds += stats.figures[Figure::kSeconds];
    result_.sampled_edges += stats.figures[Figure::kSampledEdges];
    HG_RETURN_IF_ERROR(on_epoch_(stats));
  }
  return OkStatus();
}

}  // namespace halograph
