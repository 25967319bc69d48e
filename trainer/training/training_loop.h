// Synchronous data-parallel training: epochs of steps, each ending when the gradients weighted by
// rows are summed over all ranks, which begins in backward, and evaluation in between.
//
// What a step does depends on the weights, the optimizer's state, and (seed, epoch, step, rank): a
// loop that begins at a step with the weights and state of that moment goes on as the loop did that
// came there, bit for bit.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/stopwatch.h"
#include "trainer/distributed/gradients.h"
#include "trainer/training/batch_feed.h"
#include "trainer/training/kept_tensors.h"
#include "trainer/training/late_figures.h"
#include "trainer/training/optimizer.h"
#include "trainer/training/run_rules.h"
#include "trainer/training/schedule.h"
#include "trainer/training/session.h"
#include "trainer/training/thread_tuner.h"
#include "trainer/training/train_metrics.h"
#include "trainer/training/train_result.h"

namespace halograph {

// What a loop begins with: the first step that it takes, and what came before it.
struct TrainingStart {
  int64_t epoch = 0;
  int64_t step = 0;        // in the epoch; as many as it has: what follows them comes first
  int64_t steps_done = 0;  // before it, of the whole run
  TrainResult so_far = {};
  std::vector<torch::Tensor> best_weights = {};  // parameters, then buffers; or none
  // This rank's, of the epoch's steps before `step`. Without them the epoch's figures are of the
  // steps that the loop takes.
  EpochSums under_way = {};
};

// The loop between two steps. What it refers to changes with the next step, but for `best_weights`,
// which are replaced as a whole.
struct TrainingMoment {
  int64_t epoch;  // as TrainingStart's
  int64_t step;
  int64_t steps_done;
  int64_t steps_per_epoch;    // 0: between epochs that have no number of steps in common
  const TrainResult& so_far;  // its sums are of the epochs before `epoch`
  const std::vector<torch::Tensor>& best_weights;
  const Optimizer& optimizer;
  // This rank's, of the epoch's steps before `step`; null on all ranks if no epoch is under way.
  const EpochSums* under_way = nullptr;
};

// Who keeps moments, so that training can begin at them again (trainer/checkpoint). On every rank.
class MomentKeeper {
 public:
  virtual ~MomentKeeper() = default;
  // Called on all ranks before the first step of a loop.
  [[nodiscard]] virtual Status KeepFirst(const TrainingMoment& moment) = 0;
  // Whether this rank asks for the moment after the step that is being taken, which `steps_done`
  // counts.
  [[nodiscard]] virtual bool Wants(int64_t steps_done) = 0;
  // Called on all ranks after the same step, if one of them asked. An error ends training.
  [[nodiscard]] virtual Status Keep(const TrainingMoment& moment) = 0;
  // The same at the end of training, also after a stop, before the best weights are set back.
  [[nodiscard]] virtual Status KeepLast(const TrainingMoment& moment) = 0;

  // Of learnt inputs, whose rows are not the loop's to keep. Called on all ranks, where there are
  // any. The answer is the same on all.
  //
  // After an evaluation that is the best so far, after so many steps: keeps the rows as they are.
  // False: they could not be kept, nor are those of an earlier call any more.
  [[nodiscard]] virtual StatusOr<bool> KeepBestInputs(int64_t steps_done) = 0;
  // At the end, if the last KeepBestInputs kept them: sets the rows back. False: they could not be.
  [[nodiscard]] virtual StatusOr<bool> PutBackBestInputs() = 0;
};

class TrainingLoop {
 public:
  // Called on every rank after each epoch, and after each evaluation within one, with the same
  // sums. An error ends training.
  using OnEpoch = std::function<Status(const EpochStats& stats)>;
  // Called after each step with the seeds of all ranks in it.
  using OnStep = std::function<void(int64_t seeds)>;

  // The session's model must have equal weights on all ranks, and nothing in it may change while
  // the loop lives. Of an epoch that is begun in its middle, the figures are of the steps taken and
  // of those that `start` has sums of.
  // `keeper`: null: nobody keeps moments. `on_choice`: of --tune (thread_tuner.h), where Run shares
  // the threads out, unless `start` has a choice; null: nobody is told.
  TrainingLoop(Session& session, OnStep on_step, OnEpoch on_epoch, TrainingStart start = {},
               MomentKeeper* keeper = nullptr, ThreadTuner::OnChoice on_choice = {});

  // All epochs from the start on, up to the first limit that is reached (ControlOptions) or a
  // signal to any of the ranks: at the same step on all of them. A limit ends an epoch in its
  // middle, and what stands there is evaluated. Where the start is the end of a run that a limit
  // ended, and the limit still holds, nothing is left to do: no step, no evaluation and no call of
  // the callback. --time-limit counts anew from each start. Leaves the weights of the best
  // evaluation in the model, and its rows where inputs are learnt; there both are the last ones if
  // nobody keeps moments.
  //   FailedPrecondition  the loss is not finite: rank, epoch and step are named. With one rank on
  //                       a device it is told a step later, before anything is kept or evaluated
  //   else                as BatchFeed::Next and Communicator, the callback's, or Internal with
  //                       libtorch's message
  [[nodiscard]] StatusOr<TrainResult> Run();

  // For saving its state between steps (in OnStep, in OnEpoch), and restoring it before Run.
  [[nodiscard]] Optimizer& optimizer() { return optimizer_; }

  // Steps [first_step, end_step) of an epoch, or up to its last if it has fewer, without
  // evaluation: for whoever goes from step to step in another way than Run. Steps follow one
  // another from the start on. Figures are of these steps. Throws as libtorch does; else errors as
  // Run. If the ranks have agreed to stop, it returns OK and stopped() is set.
  static constexpr int64_t kToItsEnd = std::numeric_limits<int64_t>::max();
  [[nodiscard]] StatusOr<EpochStats> RunEpoch(int64_t epoch, int64_t first_step,
                                              int64_t end_step = kToItsEnd);
  [[nodiscard]] bool stopped() const { return result_.stopped; }
  // Of the minibatches that the last RunEpoch ran: the sums of the task's metric.
  [[nodiscard]] std::span<const double> metric_sums() const { return under_way_.metric; }

 private:
  // Adds steps to the epoch under way; from step 0 on it is a new one.
  [[nodiscard]] StatusOr<EpochStats> RunSteps(int64_t epoch, int64_t first_step, int64_t end_step);
  // Whether what is under way at the end, if anything is, has been told to the callback.
  [[nodiscard]] StatusOr<bool> RunEpochs();
  // Evaluates what stands at the start, between two epochs, where no step is left to take.
  [[nodiscard]] Status EvaluateStart();
  // Ends an epoch all of whose steps are taken and evaluated.
  void CloseEpoch(const EpochStats& stats);
  // Adds an epoch to the result.
  void Count(const EpochStats& stats);
  [[nodiscard]] Status CountUnderWay();
  // The steps so far of the epoch under way; over all ranks only after Reduce.
  [[nodiscard]] EpochStats StatsUnderWay(int64_t epoch, int64_t step) const;
  // Begins to count time for the epoch under way.
  void StartLap();
  // Adds the time since the last lap to the epoch's, of the loop and of the feed's stages.
  void CountSeconds();
  // These set result_.stopped, and return OK, once the ranks have agreed to stop.
  [[nodiscard]] Status TakeStep(int64_t epoch, int64_t step, EpochFigures* figures);
  // Whether the figures of the step that is under way may come with a later one.
  [[nodiscard]] bool MayBeToldLate() const;
  // Of a step that all ranks take: what follows the gradients.
  [[nodiscard]] Status EndStep(Step& next, int64_t epoch, int64_t step, EpochFigures* figures);
  [[nodiscard]] Status EvaluateSets(EpochStats* stats);
  // In the middle of an epoch, which has come to `stats->step`. If this ends training, `stats` gets
  // what was evaluated.
  [[nodiscard]] Status EvaluateWithin(EpochStats* stats);

  // Counts what the rank waits for others while it lives.
  class [[nodiscard]] SyncWait {
   public:
    SyncWait(TrainingLoop& loop, EpochFigures* figures);
    ~SyncWait();
    SyncWait(const SyncWait&) = delete;
    SyncWait& operator=(const SyncWait&) = delete;

   private:
    TrainingLoop& loop_;
    EpochFigures* const figures_;
    const StepClock::Doing blocked_;
    const Stopwatch watch_;
  };

  // This rank's minibatch; null after a signal.
  [[nodiscard]] StatusOr<std::shared_ptr<Step>> NextStep(EpochFigures* figures);
  // What the stages waited for servers while they prepared it.
  void CountServers(const Step& batch);
  // What the step's loss is divided by: the weight of its rows, of all ranks. `next`: null after a
  // signal.
  [[nodiscard]] StatusOr<double> StepWeight(const Step* next, int64_t step, EpochFigures* figures);
  // Forward and backward: gradients are left in the buffer, or on their way, and what the figures
  // are made of in late_.
  [[nodiscard]] Status Learn(const std::shared_ptr<Step>& next, int64_t epoch, int64_t step,
                             double step_weight, EpochFigures* figures);
  [[nodiscard]] Status ComputeGradients(std::shared_ptr<const Step> batch, const ModelInput& input,
                                        double step_weight);
  [[nodiscard]] Status PushGradients(const Step& batch, EpochFigures* figures);
  // New weights of the gradients that all ranks have.
  [[nodiscard]] Status Update(int64_t epoch, int64_t step, EpochFigures* figures);
  [[nodiscard]] Status Reduce(EpochStats* stats);
  [[nodiscard]] Status Remember(const EpochStats& stats);
  [[nodiscard]] Status PutBackBest();
  [[nodiscard]] TrainingMoment Moment() const;

  Session& session_;
  const OnStep on_step_;
  const OnEpoch on_epoch_;
  MomentKeeper* const keeper_;
  const int64_t first_epoch_, first_step_;
  std::vector<torch::Tensor> parameters_;
  const std::vector<torch::Tensor> buffers_;  // of the model
  KeptTensors buffers_before_;                // the step, where moments are kept
  GradientBuffer gradients_;
  Optimizer optimizer_;
  const std::shared_ptr<TrainMetrics> metrics_;
  BatchFeed feed_;
  const TrainMetrics::Stages stages_;  // of the feed
  std::optional<ThreadTuner> tuner_;
  const RunLength length_;
  EpochSums under_way_;       // of the epoch's minibatches, up to next_step_ between two steps
  LateFigures late_;          // of steps that under_way_ has the rest of
  bool after_moment_ = true;  // a moment is kept that no step has followed
  double waited_ = 0;         // for other ranks in the step under way, seconds
  // Since the last time that under_way_ counted; and what the feed's stages had come to then.
  Stopwatch lap_;
  std::vector<BatchFeed::StageTime> lap_stages_;
  // Of the steps taken since then, by stage: how long each was under way in it, and how long their
  // requests at each server, all added up.
  struct LapCalls {
    double under_way = 0;
    std::vector<double> servers = {};
  };
  std::map<std::string, LapCalls> lap_calls_;
  // Sums are of closed epochs, until Run is at its end.
  TrainResult result_;
  KeptTensors best_weights_;  // of parameters_, then buffers_
  const RunRules rules_;
  int64_t next_epoch_, next_step_, steps_done_;  // as TrainingStart's
};

}  // namespace halograph
