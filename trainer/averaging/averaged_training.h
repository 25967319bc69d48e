// Training by averaging models (CATGNN, arXiv 2404.02300, section 3.3), in the place of one loop
// whose gradients all ranks sum in every step.
//
// A round is K epochs. In it a rank takes its parts in turn: it opens the part, trains a model of
// its own for K epochs on the part's rows, beginning with the weights of the last average, and
// closes the part. Then all models of all ranks are averaged, each weighted by its part's training
// rows, and the average is evaluated. Parts, and so ranks, may take different numbers of steps; who
// is done first waits for the others at the average, at most for the collectives' timeout.
//
// Each part's training is a TrainingLoop of one rank: nothing in a step knows of averaging. The
// optimizer's state (Adam's moments and count of steps) is averaged as the weights are: moments
// that stayed with each part would pull each model back to where its own part's rows want it
// (measured: docs/catgnn.md).
//
// The moment between two rounds is what training can begin at: the last average, and how far it has
// come. Rounds end after epochs K, 2K, ..., wherever training begins.
//
// What a part's epoch does depends on the last average and (seed, part, epoch, step): not on which
// rank trains it. With another number of ranks only the order of the average's sums differs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "trainer/averaging/part_source.h"
#include "trainer/distributed/model_average.h"
#include "trainer/training/kept_tensors.h"
#include "trainer/training/training_loop.h"

namespace halograph {

// Not thread-safe. Memory beside what a part takes: the weights four times (the model, the last
// average, the sum, the best), and the optimizer's state four times, with a keeper five times;
// whatever the number of parts.
class AveragedTraining {
 public:
  // `run`: whose model is trained; it must have equal weights on all ranks. Evaluation comes after
  // averages only: after the first that ends with or after an epoch where run.options.eval_every
  // wants one, and after the last. `on_epoch` is called on every rank for the epochs of a round,
  // one after the other, once the round is averaged; `on_step` as TrainingLoop's. `start`: of a
  // moment that a keeper was given, with whose weights the model is; steps are those of this rank.
  // `keeper`: null, or on every rank; it is asked once a round, after the average and what is
  // evaluated of it.
  AveragedTraining(Session& run, PartSource* parts, TrainingLoop::OnStep on_step,
                   TrainingLoop::OnEpoch on_epoch, TrainingStart start = {},
                   MomentKeeper* keeper = nullptr);

  // What the first round begins with; for whoever goes on, before Run.
  [[nodiscard]] Optimizer& optimizer() { return optimizer_; }

  // All epochs, or those of the rounds before a signal came to any of the ranks; leaves the weights
  // of the best average in the model. A round that a signal cuts short is not kept.
  //   Unavailable  a rank did not come to the average within the timeout: the epoch is named, and
  //                what the wait was for
  //   else         as TrainingLoop::Run, with rank and part in front, and as PartSource
  [[nodiscard]] StatusOr<TrainResult> Run();

 private:
  // An epoch of this rank's parts, before the ranks have met.
  struct EpochSums {
    EpochFigures figures;
    std::vector<double> metric;
  };

  // Trains all parts from epoch `first` to before `end`. Whether a signal has come.
  [[nodiscard]] StatusOr<bool> TrainParts(int64_t first, int64_t end);
  [[nodiscard]] StatusOr<bool> TrainPart(int part, int64_t first, int64_t end);
  void Add(const TrainingLoop& loop, const EpochStats& stats, EpochSums* sums);
  // Meets with the others: averages, and makes the round's figures those of all ranks. Sets
  // result_.stopped if any rank stops.
  [[nodiscard]] Status Average(int64_t first, int64_t end, bool stop);
  // `keep`: before, whether this rank asks for the moment; after it, whether any does.
  [[nodiscard]] StatusOr<std::vector<EpochStats>> OverRanks(int64_t first, bool* keep);
  // Evaluates the average of a round from epoch `first` to `last` if it is due.
  [[nodiscard]] Status EvaluateIfDue(int64_t first, EpochStats* last);
  // Makes up for an evaluation that a signal cut short.
  [[nodiscard]] Status EvaluateWhatWasLeft();
  // Evaluates if it is due, reports the epochs of the round, and gives the keeper the moment.
  [[nodiscard]] Status EndRound(int64_t first);
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
  std::vector<EpochSums> round_;              // by epoch of the round
  TrainResult result_;
};

}  // namespace halograph
