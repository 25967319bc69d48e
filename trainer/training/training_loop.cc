#include "trainer/training/training_loop.h"

#include <cmath>
#include <utility>

#include "common/base/stopwatch.h"
#include "trainer/pipeline/batch_schedule.h"
#include "trainer/training/evaluation.h"

namespace halograph {
namespace {

Json OrNull(const std::optional<double>& value) {
  return value.has_value() ? Json(*value) : Json();
}

}  // namespace

// This rank's part of an epoch.
struct TrainingLoop::Sums {
  double loss = 0;
  int64_t seeds = 0;
  FeedWaits waits;
  double compute_s = 0;
  double sync_wait_s = 0;
  int64_t sampled_edges = 0;
  int64_t minibatches = 0;  // with seeds
  CallStats sampled;
  CallStats pulled;
};

Json ToJson(const EpochStats& stats) {
  return Json{{"epoch", stats.epoch},
              {"loss", stats.loss},
              {"valid_acc", OrNull(stats.valid_acc)},
              {"test_acc", OrNull(stats.test_acc)},
              {"seconds", stats.seconds},
              {"sample_wait_s", stats.sample_wait_s},
              {"feature_wait_s", stats.feature_wait_s},
              {"compute_s", stats.compute_s},
              {"sync_wait_s", stats.sync_wait_s},
              {"eval_s", stats.eval_s},
              {"train_seeds", std::llround(stats.train_seeds)},
              {"steps", stats.steps},
              {"sampled_edges", std::llround(stats.sampled_edges)},
              {"local_bytes", std::llround(stats.local_bytes)},
              {"remote_bytes", std::llround(stats.remote_bytes)},
              {"remote_sample_bytes", std::llround(stats.remote_sample_bytes)},
              {"rounds_per_minibatch", stats.rounds_per_minibatch}};
}

TrainingLoop::TrainingLoop(Session& session, OnStep on_step, OnEpoch on_epoch)
    : session_(session),
      on_step_(std::move(on_step)),
      on_epoch_(std::move(on_epoch)),
      parameters_(session.model->parameters()),
      gradients_(parameters_),
      optimizer_(parameters_, torch::optim::AdamOptions(session.options.learning_rate)
                                  .weight_decay(session.options.weight_decay)),
      feed_(session, BatchPurpose::kTrain, session.task.train.seeds, session.task.train.labels) {}

StatusOr<TrainResult> TrainingLoop::Run() {
  const TrainOptions& options = session_.options;
  try {
    for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
      HG_ASSIGN_OR_RETURN(EpochStats stats, RunEpoch(epoch));
      const bool due = options.eval_every > 0 && (epoch + 1) % options.eval_every == 0;
      const bool evaluated = due || epoch + 1 == options.epochs;
      if (evaluated) HG_RETURN_IF_ERROR(Evaluate(&stats));
      if (evaluated) Remember(stats);
      result_.last = stats;
      result_.train_seconds += stats.seconds;
      result_.sampled_edges += stats.sampled_edges;
      HG_RETURN_IF_ERROR(on_epoch_(stats));
    }
    RestoreBest();
  } catch (const std::exception& error) {
    return Internal("rank {}: libtorch: {}", options.rank, TorchMessage(error));
  }
  return result_;
}

StatusOr<EpochStats> TrainingLoop::RunEpoch(int64_t epoch) {
  const Stopwatch watch;
  const TrainOptions& options = session_.options;
  session_.model->train();
  torch::manual_seed(TrainerKey(options.seed, TrainerStream::kDropout, static_cast<uint64_t>(epoch),
                                static_cast<uint64_t>(options.rank)));
  Sums sums;
  for (int64_t step = 0; step < feed_.steps_per_epoch(); ++step) {
    HG_RETURN_IF_ERROR(Step(epoch, step, &sums));
  }
  HG_ASSIGN_OR_RETURN(EpochStats stats, Reduce(sums));
  stats.epoch = epoch;
  stats.steps = feed_.steps_per_epoch();
  stats.seconds = watch.Seconds();
  return stats;
}

Status TrainingLoop::Step(int64_t epoch, int64_t step, Sums* sums) {
  HG_ASSIGN_OR_RETURN(PreparedBatch batch, feed_.Next(&sums->waits));
  const int64_t seeds = feed_.shards().SeedsInStep(session_.options.batch_size, step);
  const Stopwatch compute_watch;
  const double loss_before = sums->loss;
  HG_RETURN_IF_ERROR(
      Annotate(ComputeGradients(batch, seeds, sums),
               fmt::format("rank {}, epoch {}, step {}", session_.options.rank, epoch, step)));
  sums->compute_s += compute_watch.Seconds();

  const Stopwatch sync_watch;
  const Status reduced = gradients_.AllReduce(*session_.ranks);
  if (!reduced.ok()) HG_RETURN_IF_ERROR(session_.CheckStop());
  HG_RETURN_IF_ERROR(reduced);
  sums->sync_wait_s += sync_watch.Seconds();

  const Stopwatch update_watch;
  optimizer_.step();
  sums->compute_s += update_watch.Seconds();
  const auto own = static_cast<double>(std::max<int64_t>(1, batch.num_seeds()));
  on_step_(seeds, (sums->loss - loss_before) / own);
  return OkStatus();
}

Status TrainingLoop::ComputeGradients(PreparedBatch& batch, int64_t seeds_in_step, Sums* sums) {
  gradients_.Zero();
  sums->sampled += batch.sampled;
  sums->pulled += batch.pulled;
  sums->sampled_edges += batch.minibatch.sampled_edges;
  sums->seeds += batch.num_seeds();
  if (batch.num_seeds() == 0) return OkStatus();
  ++sums->minibatches;
  const torch::Tensor scores = session_.model->forward(TakeFeatures(batch), batch.minibatch);
  const torch::Tensor loss = torch::nn::functional::cross_entropy(
      scores, LabelsOf(batch),
      torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
  const auto value = loss.item<double>();
  if (!std::isfinite(value)) {
    return FailedPrecondition(
        "the loss is {}: lower --lr ({}), or look for extreme values among the features", value,
        session_.options.learning_rate);
  }
  sums->loss += value;
  // Gradients are then summed over ranks: the mean over the step's seeds, wherever they are.
  (loss / static_cast<double>(seeds_in_step)).backward();
  return OkStatus();
}

StatusOr<EpochStats> TrainingLoop::Reduce(const Sums& sums) {
  torch::Tensor reduced = torch::tensor(
      {sums.loss, static_cast<double>(sums.seeds), sums.waits.sample_s, sums.waits.feature_s,
       sums.compute_s, sums.sync_wait_s, static_cast<double>(sums.sampled_edges),
       static_cast<double>(sums.pulled.local_bytes), static_cast<double>(sums.pulled.remote_bytes),
       static_cast<double>(sums.sampled.remote_bytes),
       static_cast<double>(sums.sampled.rounds + sums.pulled.rounds),
       static_cast<double>(sums.minibatches)},
      torch::kFloat64);
  HG_RETURN_IF_ERROR(session_.ranks->AllReduceSum(reduced, "all-reduce of an epoch's sums"));
  const auto* values = reduced.data_ptr<double>();
  const double world = session_.options.world_size;
  EpochStats stats;
  stats.loss = values[0] / values[1];
  stats.train_seeds = values[1];
  stats.sample_wait_s = values[2] / world;
  stats.feature_wait_s = values[3] / world;
  stats.compute_s = values[4] / world;
  stats.sync_wait_s = values[5] / world;
  stats.sampled_edges = values[6];
  stats.local_bytes = values[7];
  stats.remote_bytes = values[8];
  stats.remote_sample_bytes = values[9];
  stats.rounds_per_minibatch = values[10] / values[11];
  return stats;
}

Status TrainingLoop::Evaluate(EpochStats* stats) {
  const Stopwatch watch;
  HG_ASSIGN_OR_RETURN(stats->valid_acc,
                      Accuracy(session_, session_.task.valid, BatchPurpose::kValid));
  HG_ASSIGN_OR_RETURN(stats->test_acc, Accuracy(session_, session_.task.test, BatchPurpose::kTest));
  stats->eval_s = watch.Seconds();
  return OkStatus();
}

void TrainingLoop::Remember(const EpochStats& stats) {
  const bool better = best_weights_.empty() || !stats.valid_acc.has_value() ||
                      *stats.valid_acc > result_.best.valid_acc.value_or(-1);
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
