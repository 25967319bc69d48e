// A stream of minibatches as the loops consume it: with tensors of their rows, learnt ones
// included, measured, and ended for good when abandoned.
//
// Behind the stages of MinibatchStream stand `learn`, where rows are learnt (their pull), and
// `move` (tensors).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "trainer/models/layer_on_device.h"
#include "trainer/pipeline/minibatch_stream.h"
#include "trainer/tasks/task.h"
#include "trainer/torch/torch_api.h"
#include "trainer/training/session.h"
#include "trainer/training/thread_search.h"

namespace halograph {

// How long a loop stood still for minibatches, in seconds. A wait is shared between sampling and
// features as the two shared the minibatch's preparation.
struct FeedWaits {
  double sample_s = 0;
  double feature_s = 0;
};

// What a step's rows are as tensors.
struct MovedRows final : TaskTensors {
  std::vector<torch::Tensor> nodes;  // by node type; none of types without features
  std::vector<torch::Tensor> self_and_mean;
  LearntRows learnt;
  std::vector<LayerOnDevice> blocks;   // where the rows are on a device
  std::unique_ptr<DeviceBatch> batch;  // of all that is there: goes first
};
// Pulls the rows of a step's nodes that are learnt, as they are now. Requires session.learnt.
// Errors as LearntInputs::Pull.
[[nodiscard]] Status PullLearnt(const Session& session, const CancelToken* cancel, Step* step);
// Makes tensors of the rows, without a copy.
[[nodiscard]] Status MoveToTensors(Step* step);
// What a model asks of its minibatches, as a device is given them: all rows, in float32, since they
// are rounded and aggregated there, and blocks in a form that has a layout (layer_on_device.h).
[[nodiscard]] BatchRecipe ForDevice(BatchRecipe recipe);
// Compaction of the last layer on a device, which is not the CPU. Errors as MoveToDevice.
[[nodiscard]] CompactIds CompactOnDevice(const Device& device, int rank);
// Begins to copy rows of either kind, blocks, and what the task reads to the session's device,
// which is not the CPU.
//   InvalidArgument    a block has more edges than a device's can have
//   ResourceExhausted  there is no memory left
//   Internal           what libtorch says else
[[nodiscard]] Status MoveToDevice(const Session& session, Step* step);

// What a stop signal does to a pass.
enum class OnSignal {
  kEnd,
  kFinish,  // nothing: the pass is what the signal leaves to be done
};

class BatchFeed {
 public:
  // One pass, or all epochs of training from (first_epoch, first_step) on, --max-steps steps of the
  // run at most, over the rows of `source`, which must outlive the feed. `ahead`: as KeepAhead's,
  // from the start.
  BatchFeed(const Session& session, BatchPurpose purpose, const SeedSource& source,
            int64_t first_epoch = 0, int64_t first_step = 0, OnSignal on_signal = OnSignal::kEnd,
            std::optional<int64_t> ahead = std::nullopt);
  // Cancels what is still being prepared, and waits for it. The stores serve others as before.
  ~BatchFeed();
  BatchFeed(const BatchFeed&) = delete;
  BatchFeed& operator=(const BatchFeed&) = delete;

  [[nodiscard]] int64_t steps_per_epoch() const { return stream_.steps_per_epoch(); }
  [[nodiscard]] const SeedShards& shards() const { return shards_; }
  // For other calls that belong to this pass.
  [[nodiscard]] const CancelToken* cancel() const { return &cancel_; }
  // Requires a next minibatch. Errors as MinibatchStream::Next and PullLearnt; Cancelled after a
  // stop signal that ends the pass.
  [[nodiscard]] StatusOr<Step> Next(FeedWaits* waits);

  // Where rows are learnt, a feed of training is told of the push of each step. The rows of a step
  // are pulled after the push of the step before it, or with --staleness K of K more before it, and
  // before the next push: what is learnt depends on nothing but the steps.
  //
  // Before the push of the step that was taken last: waits for the pull that must not see it.
  void AwaitPulls();
  // After it.
  void Pushed();

  // Of `processors`, and the threads that the stages were made with.
  [[nodiscard]] ThreadLimits Limits(int processors) const;
  // At most so many threads sample, and gather, from now on: no more than Limits.
  void Limit(const ThreadSplit& split);
  // Samples only so many steps ahead of the last one taken, or as many as Limits says, until it is
  // told otherwise; those that are sampled already stay. nullopt: as far as there is room. Only
  // for a feed that was made with `ahead`, and not again after nullopt.
  void KeepAhead(std::optional<int64_t> steps);

  // Cancels what is being prepared, and waits for it: nothing of the feed uses the stores any more.
  // Idempotent; Next must not follow.
  void End();

  struct StageTime {
    std::string name;
    StageSeconds seconds;
  };
  // Of the stages, in order, since the feed was made.
  [[nodiscard]] std::vector<StageTime> StageTimes() const;
  // By name, as sums over the threads. By any thread.
  [[nodiscard]] std::map<std::string, StageSeconds> ThreadTimes() const;

 private:
  [[nodiscard]] int64_t LeastAhead() const;
  [[nodiscard]] Status CheckStop() const { return stoppable_ ? session_.CheckStop() : OkStatus(); }

  const Session& session_;
  const bool stoppable_;
  const SeedShards shards_;
  const int64_t staleness_;  // of a feed of training whose rows are learnt; else -1
  CancelToken cancel_;       // of this feed's calls
  const CancelToken::Registration on_run_cancel_;  // the run's token cancels it too
  std::optional<int64_t> ahead_;                   // as KeepAhead
  MinibatchStream stream_;
  int64_t taken_ = 0;  // steps
};

// The learnt rows of a step that has been through the feed; of no rows where nothing is learnt.
[[nodiscard]] const LearntRows& LearntOf(const Step& step);

// A step as a model takes it in. The rows go along without a copy, so this works once a step: their
// memory lives as long as the graph of backward. All else must outlive that graph in `step`.
// `draws` as ModelInput's. Requires MoveToTensors, or MoveToDevice, as feeds do it.
[[nodiscard]] ModelInput InputOf(Step& step, std::optional<uint64_t> draws);

// The same with the rows that the run had learnt when they were pulled: in training to learn from
// them, in evaluation without draws.
[[nodiscard]] ModelInput TrainingInputOf(Session& session, Step& step, uint64_t draws);
[[nodiscard]] ModelInput EvaluationInputOf(Session& session, Step& step);

}  // namespace halograph
