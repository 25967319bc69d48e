#include "trainer/training/training_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>

#include "common/base/stopwatch.h"
#include "trainer/pipeline/batch_schedule.h"
#include "trainer/training/evaluation.h"
#include "trainer/training/torch_error.h"

namespace halograph {
namespace {

Json OrNull(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json();
}

void Count(const PreparedBatch& batch, EpochFigures* figures) {
  EpochFigures& f = *figures;
  f[Figure::kTrainSeeds] += static_cast<double>(batch.rows);
  f[Figure::kSampledEdges] += static_cast<double>(batch.minibatch.sampled_edges);
  f[Figure::kLocalBytes] += static_cast<double>(batch.pulled.local_bytes);
  f[Figure::kRemoteBytes] += static_cast<double>(batch.pulled.remote_bytes);
  f[Figure::kRemoteSampleBytes] += static_cast<double>(batch.sampled.remote_bytes);
  f[Figure::kRounds] += static_cast<double>(batch.sampled.rounds + batch.pulled.rounds);
  f[Figure::kMinibatches] += batch.rows > 0 ? 1 : 0;
}

}  // namespace

Json ToJson(const EpochStats& stats, std::string_view metric) {
  Json json = stats.figures.ToJson();
  json["epoch"] = stats.epoch;
  json[fmt::format("valid_{}", metric)] = OrNull(stats.valid);
  json[fmt::format("test_{}", metric)] = OrNull(stats.test);
  return json;
}

TrainingLoop::TrainingLoop(Session& session, OnStep on_step, OnEpoch on_epoch, TrainingStart start)
    : session_(session),
      on_step_(std::move(on_step)),
      on_epoch_(std::move(on_epoch)),
      start_(start),
      parameters_(session.Parameters()),
      gradients_(parameters_),
      optimizer_(session.options.optimizer, parameters_, session.options.learning_rate,
                 session.options.weight_decay),
      feed_(session, BatchPurpose::kTrain, *session.task->source(BatchPurpose::kTrain), start.epoch,
            start.step) {}

StatusOr<TrainResult> TrainingLoop::Run() {
  const TrainOptions& options = session_.options;
  try {
    for (int64_t epoch = start_.epoch; epoch < options.epochs; ++epoch) {
      HG_ASSIGN_OR_RETURN(EpochStats stats,
                          RunEpoch(epoch, epoch == start_.epoch ? start_.step : 0));
      const bool due = options.eval_every > 0 && (epoch + 1) % options.eval_every == 0;
      const bool evaluated = due || epoch + 1 == options.epochs;
      if (evaluated) HG_RETURN_IF_ERROR(EvaluateSets(&stats));
      if (evaluated) Remember(stats);
      result_.last = stats;
      result_.train_seconds += stats.figures[Figure::kSeconds];
      result_.sampled_edges += stats.figures[Figure::kSampledEdges];
      HG_RETURN_IF_ERROR(on_epoch_(stats));
    }
    RestoreBest();
  } catch (const std::exception& error) {
    return TorchError(options.rank, "training", error);
  }
  return result_;
}

StatusOr<EpochStats> TrainingLoop::RunEpoch(int64_t epoch, int64_t first_step) {
  const Stopwatch watch;
  session_.model->train();
  EpochStats stats;
  stats.epoch = epoch;
  for (int64_t step = first_step; step < feed_.steps_per_epoch(); ++step) {
    HG_RETURN_IF_ERROR(Step(epoch, step, &stats.figures));
  }
  stats.figures[Figure::kSteps] = static_cast<double>(feed_.steps_per_epoch() - first_step);
  HG_RETURN_IF_ERROR(Reduce(&stats.figures));
  stats.figures[Figure::kSeconds] = watch.Seconds();
  return stats;
}

Status TrainingLoop::Step(int64_t epoch, int64_t step, EpochFigures* figures) {
  const TrainOptions& options = session_.options;
  FeedWaits waits;
  HG_ASSIGN_OR_RETURN(PreparedBatch batch, feed_.Next(&waits));
  (*figures)[Figure::kSampleWait] += waits.sample_s;
  (*figures)[Figure::kFeatureWait] += waits.feature_s;
  Count(batch, figures);
  const int64_t seeds = feed_.shards().SeedsInStep(options.batch_size, step);
  const Stopwatch compute_watch;
  const uint64_t draws =
      StepKey(options.seed, TrainerStream::kDropout, static_cast<uint64_t>(epoch),
              static_cast<uint64_t>(step), static_cast<uint64_t>(options.rank));
  auto loss = ComputeGradients(batch, seeds, draws);
  if (!loss.ok()) {
    return Annotate(loss.status(),
                    fmt::format("rank {}, epoch {}, step {}", options.rank, epoch, step));
  }
  (*figures)[Figure::kLoss] += *loss;
  (*figures)[Figure::kCompute] += compute_watch.Seconds();

  const Stopwatch sync_watch;
  const Status reduced = gradients_.AllReduce(*session_.ranks);
  if (!reduced.ok()) HG_RETURN_IF_ERROR(session_.CheckStop());
  HG_RETURN_IF_ERROR(reduced);
  (*figures)[Figure::kSyncWait] += sync_watch.Seconds();

  const Stopwatch update_watch;
  optimizer_.Step();
  (*figures)[Figure::kCompute] += update_watch.Seconds();
  on_step_(seeds, *loss / static_cast<double>(std::max<int64_t>(1, batch.rows)));
  return OkStatus();
}

StatusOr<double> TrainingLoop::ComputeGradients(PreparedBatch& batch, int64_t seeds_in_step,
                                                uint64_t draws_key) {
  gradients_.Zero();
  if (batch.rows == 0) return 0.0;
  const auto draws = at::make_generator<at::CPUGeneratorImpl>(draws_key);
  const torch::Tensor loss = session_.task->LossSum(ModelOutputs(session_, batch, draws), batch);
  const auto value = loss.item<double>();
  if (!std::isfinite(value)) {
    return FailedPrecondition(
        "the loss is {}: lower --lr ({}), or look for extreme values among the features", value,
        session_.options.learning_rate);
  }
  // Gradients are then summed over ranks: the mean over the step's seeds, wherever they are.
  (loss / static_cast<double>(seeds_in_step)).backward();
  return value;
}

Status TrainingLoop::Reduce(EpochFigures* figures) {
  torch::Tensor sums = torch::tensor(figures->ToSum(), torch::kFloat64);
  HG_RETURN_IF_ERROR(session_.ranks->AllReduceSum(sums, "all-reduce of an epoch's sums"));
  figures->Finish({sums.data_ptr<double>(), static_cast<size_t>(sums.numel())},
                  session_.options.world_size);
  return OkStatus();
}

Status TrainingLoop::EvaluateSets(EpochStats* stats) {
  const Stopwatch watch;
  HG_ASSIGN_OR_RETURN(stats->valid, Evaluate(session_, BatchPurpose::kValid));
  HG_ASSIGN_OR_RETURN(stats->test, Evaluate(session_, BatchPurpose::kTest));
  stats->figures[Figure::kEvalSeconds] = watch.Seconds();
  return OkStatus();
}

void TrainingLoop::Remember(const EpochStats& stats) {
  const bool higher = session_.task->metric().higher_is_better;
  const std::optional<double>& best = result_.best.valid;
  const bool better = best_weights_.empty() || !stats.valid.has_value() || !best.has_value() ||
                      (higher ? *stats.valid > *best : *stats.valid < *best);
  if (!better) return;
  const torch::NoGradGuard no_grad;
  result_.best = stats;
  best_weights_.clear();
  for (const torch::Tensor& parameter : parameters_) {
    best_weights_.push_back(parameter.detach().clone());
  }
}

void TrainingLoop::RestoreBest() {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < best_weights_.size(); ++i) parameters_[i].copy_(best_weights_[i]);
}

}  // namespace halograph
