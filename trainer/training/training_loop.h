// Synchronous data-parallel training: epochs of steps, each ending in one all-reduce of gradients
// weighted by seeds, and evaluation in between.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "common/base/status.h"
#include "common/storage/json.h"
#include "trainer/distributed/gradients.h"
#include "trainer/training/batch_feed.h"
#include "trainer/training/session.h"

namespace halograph {

// One epoch of training, over all ranks: sums of loss, seeds, edges and bytes, means of times.
struct EpochStats {
  int64_t epoch = 0;  // from 0, as in the batch seeds
  double loss = 0;    // mean over seeds
  double train_seeds = 0;
  int64_t steps = 0;
  double seconds = 0;  // training without evaluation, rank 0's clock
  double sample_wait_s = 0;
  double feature_wait_s = 0;
  double compute_s = 0;
  double sync_wait_s = 0;
  double eval_s = 0;
  double sampled_edges = 0;
  double local_bytes = 0;  // of features
  double remote_bytes = 0;
  double remote_sample_bytes = 0;
  double rounds_per_minibatch = 0;
  std::optional<double> valid_acc;  // none: no such set, or not evaluated after this epoch
  std::optional<double> test_acc;
};
[[nodiscard]] Json ToJson(const EpochStats& stats);

// What a whole run comes to.
struct TrainResult {
  EpochStats best;  // the first of the highest validation accuracy; the last without such a set
  EpochStats last;
  double train_seconds = 0;  // over epochs
  double sampled_edges = 0;
};

class TrainingLoop {
 public:
  // Called on every rank after each epoch with the same sums. An error ends training.
  using OnEpoch = std::function<Status(const EpochStats& stats)>;
  // Called after each step with the seeds of all ranks in it and the rank's mean loss.
  using OnStep = std::function<void(int64_t seeds, double loss)>;

  // The session's model must have equal weights on all ranks. Nothing is owned.
  TrainingLoop(Session& session, OnStep on_step, OnEpoch on_epoch);

  // All epochs; leaves the best epoch's weights in the model.
  //   FailedPrecondition  the loss is not finite: rank, epoch and step are named
  //   Cancelled           a signal came
  //   else                as BatchFeed::Next and Communicator, the callback's, or Internal with
  //                       libtorch's message
  [[nodiscard]] StatusOr<TrainResult> Run();

 private:
  struct Sums;
  [[nodiscard]] StatusOr<EpochStats> RunEpoch(int64_t epoch);
  [[nodiscard]] Status Step(int64_t epoch, int64_t step, Sums* sums);
  [[nodiscard]] Status ComputeGradients(PreparedBatch& batch, int64_t seeds_in_step, Sums* sums);
  [[nodiscard]] StatusOr<EpochStats> Reduce(const Sums& sums);
  [[nodiscard]] Status Evaluate(EpochStats* stats);
  void Remember(const EpochStats& stats);
  void RestoreBest();

  Session& session_;
  const OnStep on_step_;
  const OnEpoch on_epoch_;
  std::vector<torch::Tensor> parameters_;
  GradientBuffer gradients_;
  torch::optim::Adam optimizer_;
  BatchFeed feed_;
  TrainResult result_;
  std::vector<torch::Tensor> best_weights_;
};

}  // namespace halograph
