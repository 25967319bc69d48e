// Training by averaging models (CATGNN, arXiv 2404.02300, section 3.3), in the place of one loop
// whose gradients all ranks sum in every step.
//
// A round is K epochs, or K steps of an epoch. In it a rank takes its parts in turn: it opens the
// part, trains a model of its own for the round on the part's rows, beginning with the weights of
// the last average, and closes the part. Then all models of all ranks are averaged, each weighted
// by the training rows that it saw in the round (over K epochs: by its share of them). Parts, and
// so ranks, may take different numbers of steps; who is done first waits for the others at the
// average, at most for the collectives' timeout.
//
// With K steps, round j of an epoch is steps [j K, (j + 1) K) of each part's epoch. A part whose
// epoch has fewer is not opened and adds nothing. There are as many rounds as the part with the
// most steps of all ranks needs. Averages within an epoch are only begun from: evaluations, lines
// of the log, moments to begin at and limits stand between epochs. A rank that has one part alone
// keeps it open between the rounds of an epoch, else a part is opened and closed in every round.
//
// Each part's training is a TrainingLoop of one rank: nothing in a step knows of averaging. The
// optimizer's state (Adam's moments and count of steps) is averaged as the weights are: moments
// that stayed with each part would pull each model back to where its own part's rows want it
// (measured: docs/catgnn.md).
//
// The moment between two rounds of epochs, or between two epochs of rounds, is what training can
// begin at: the last average, and how far it has come. Rounds end after epochs K, 2K, ..., wherever
// training begins. Steps are counted over all parts of all ranks.
//
// What a part's epoch does depends on the last average and (seed, part, epoch, step): not on which
// rank trains it. With another number of ranks only the order of the average's sums differs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "trainer/averaging/part_source.h"
#include "trainer/distributed/model_average.h"
#include "trainer/training/kept_tensors.h"
#include "trainer/training/run_rules.h"
#include "trainer/training/training_loop.h"

namespace halograph {

// Not thread-safe. Memory beside what a part takes: the weights four times (the model, the last
// average, the sum, the best), and the optimizer's state four times, with a keeper five times;
// with a keeper and rounds of steps both once more (the average at the beginning of the epoch);
// whatever the number of parts.
class AveragedTraining {
 public:
  // `run`: whose model is trained; it must have equal weights on all ranks. Evaluation comes after
  // averages at ends of epochs only: after the first that ends with or after an epoch where
  // run.options.eval_every wants one, and after the last. `on_epoch` is called on every rank for
  // the epochs of a round, one after the other, once the round is averaged, or for an epoch once
  // its last round is; `on_step` as TrainingLoop's. `start`: of a moment that a keeper was given,
  // with whose weights the model is. `keeper`: null, or on every rank; it is asked once after each
  // of these ends, after what is evaluated of it. `run`, `parts` and `keeper` outlive this object,
  // and nobody changes them while it trains, but through it. What the callbacks refer to outlives
  // it, too. `start` is taken over.
  AveragedTraining(Session& run, PartSource* parts, TrainingLoop::OnStep on_step,
                   TrainingLoop::OnEpoch on_epoch, TrainingStart start = {},
                   MomentKeeper* keeper = nullptr);

  // What the first round begins with; for whoever goes on, before Run.
  [[nodiscard]] Optimizer& optimizer() { return optimizer_; }

  // All epochs, or those before a signal came to any of the ranks; leaves the weights of the best
  // average in the model. A round of epochs, or an epoch of rounds, that a signal cuts short is not
  // kept. Before the last epoch training also ends, on all ranks together, after the round or epoch
  // in which the clock of any rank passed run.options.control.time_limit, which is evaluated, and
  // after an evaluation that is out of patience.
  // A run that is given again after its end, by whatever rule, has nothing left to do.
  //   FailedPrecondition  as RunRules::Check; no training row of any part has a label
  //   Unavailable         a rank did not come to the average within the timeout: the epoch, and of
  //                       rounds of steps the steps, are named, and what the wait was for
  //   else                as TrainingLoop::Run, with rank and part in front, and as PartSource
  [[nodiscard]] StatusOr<TrainResult> Run();

 private:
  // Of each part steps [first_step, end_step) of the epochs [first, end), as far as it has them.
  struct Round {
    int64_t first;
    int64_t end;
    int64_t first_step = 0;
    int64_t end_step = TrainingLoop::kToItsEnd;
  };
  // What an error calls it: "epochs 0 to 4".
  [[nodiscard]] static std::string NameOf(const Round& round);

  struct PartInTraining {
    std::unique_ptr<OpenedPart> part;
    std::unique_ptr<TrainingLoop> loop;  // ends before the part is closed
  };

  // All rounds of the epochs [first, end), up to the one where a rank stops. A keeper then finds
  // the weights and optimizer state that the epochs began with; without one nobody looks at them.
  [[nodiscard]] Status TrainRounds(int64_t first, int64_t end);
  // Trains all parts, and meets with the others for the average.
  [[nodiscard]] Status TrainRound(const Round& round);
  // Whether a signal has come.
  [[nodiscard]] StatusOr<bool> TrainParts(const Round& round);
  [[nodiscard]] StatusOr<bool> TrainPart(int part, const Round& round);
  // Leaves it in open_, if it has steps.
  [[nodiscard]] Status OpenPart(int part, const Round& round);
  // Whether a part stays open from one round of an epoch to the next.
  [[nodiscard]] bool KeepsOpen() const;
  static void Copy(const std::vector<torch::Tensor>& from, const std::vector<torch::Tensor>& into);
  void Add(const TrainingLoop& loop, const EpochStats& stats, EpochSums* sums);
  // Sets result_.stopped if any rank stops.
  [[nodiscard]] Status Average(const Round& round, bool stop);
  // Finds out how many steps the longest epoch of a part has. Requires that all had their first
  // round.
  [[nodiscard]] Status AgreeOnLongest();

  // The epochs from `first` on, of all ranks; steps are those of all parts. `time_up`: before,
  // whether this rank's clock says so; after it, whether any does.
  [[nodiscard]] StatusOr<std::vector<EpochStats>> OverRanks(int64_t first, bool* time_up);
  // Evaluates the average of the epochs from `first` to `last` if it is due, as it is at the end of
  // the run, also of one that has been made shorter than what was trained.
  [[nodiscard]] Status EvaluateIfDue(int64_t first, EpochStats* last);
  // Makes up for an evaluation that an earlier run left to do, if it is due.
  [[nodiscard]] Status EvaluateWhatWasLeft();
  // Evaluates if it is due, reports the epochs from `first` on, and gives the keeper the moment.
  [[nodiscard]] Status EndEpochs(int64_t first);
  [[nodiscard]] Status KeepIfWanted();
  [[nodiscard]] TrainingMoment Moment();

  Session& run_;
  PartSource& parts_;
  const TrainingLoop::OnStep on_step_;
  const TrainingLoop::OnEpoch on_epoch_;
  MomentKeeper* const keeper_;
  Optimizer optimizer_;                       // has the averaged state before Run, and in moments
  const std::vector<torch::Tensor> weights_;  // parameters, then buffers
  const std::vector<torch::Tensor> moments_;  // of the optimizer
  ModelAverage average_;                      // of both
  KeptTensors best_weights_;                  // of weights_
  KeptTensors epoch_begin_;                   // of both, with a keeper and rounds of steps
  const RunRules rules_;
  std::unique_ptr<PartInTraining> open_;
  std::map<int, int64_t> steps_of_;  // an epoch of each part that was opened
  std::optional<int64_t> longest_;   // of these, of all ranks
  std::vector<EpochSums> epochs_;    // of this rank's parts, since the last end of epochs
  TrainResult result_;
};

}  // namespace halograph
