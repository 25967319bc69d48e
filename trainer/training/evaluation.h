// What the model makes of rows that it is not trained on: the task's metric of a set, and
// predictions for nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "trainer/output/prediction_file.h"
#include "trainer/training/batch_feed.h"
#include "trainer/training/session.h"

namespace halograph {

// What a set comes to, over all ranks.
struct SetFigures {
  double metric = 0;                   // the task's; NaN where its rows do not tell, but others do
  double loss = 0;                     // over its rows, by TrainingTask::LossWeight
  std::vector<MetricValue> more = {};  // TrainingTask::MoreMetrics
};

struct Evaluation {
  // None: no such set, no metric that its rows tell, or stopped.
  std::optional<SetFigures> figures = {};
  bool stopped = false;  // by a signal to some rank, on all ranks alike
};

// The sums that a set's figures are made of, over the rows of one session or of several. For tasks
// without sweeps. Not thread-safe.
class SetSums {
 public:
  explicit SetSums(TrainingTask& task);

  // Adds those of the session's rows of a set, if it has some; its ranks must be this one alone.
  // Whether a signal has stopped it. Errors as BatchFeed::Next.
  [[nodiscard]] StatusOr<bool> AddRows(Session& session, BatchPurpose purpose);
  // Of one minibatch, whose rows `task` has read. The scores, of which its Measure may then add to
  // metric().
  [[nodiscard]] std::vector<torch::Tensor> AddLoss(TrainingTask& task,
                                                   const std::vector<torch::Tensor>& outputs,
                                                   const Step& batch);
  [[nodiscard]] std::span<double> metric() { return {data(), task_.metric().sums}; }
  // What all ranks' sums come to. Errors as Communicator.
  [[nodiscard]] StatusOr<Evaluation> OverRanks(Communicator& ranks);

 private:
  enum More { kLoss, kWeight, kMore };
  double* data() { return sums_.data_ptr<double>(); }
  double* more() { return data() + task_.metric().sums; }

  TrainingTask& task_;
  torch::Tensor sums_;
};

// Evaluates the set `purpose`; the same figures on each rank. Sampling is seeded by `purpose`
// alone, so the same weights give the same answer. A task with a sweep (TrainingTask::StartSweep)
// is evaluated in two passes, over the set and over all nodes of the types that the sweep names.
// Errors as BatchFeed::Next and Communicator.
[[nodiscard]] StatusOr<Evaluation> Evaluate(Session& session, BatchPurpose purpose);

// What becomes of the model's outputs of a minibatch with rows.
using UseOutputs =
    std::function<void(const std::vector<torch::Tensor>& outputs, const Step& batch)>;
// Gives `use` the outputs of this rank's rows of `source`, in any batches. Whether a rank has to
// stop, which then all do.
using PassOverRows = std::function<StatusOr<bool>(const SeedSource& source, const UseOutputs& use)>;
// The same with outputs that come from elsewhere.
[[nodiscard]] StatusOr<Evaluation> EvaluateBy(Session& session, BatchPurpose purpose,
                                              const PassOverRows& pass);

// The share of the most frequent class among the rows of a set, over all ranks: what naming it
// always would reach. nullopt where no row has a class, or the task has no such set.
[[nodiscard]] StatusOr<std::optional<double>> MostFrequentShare(Session& session, BatchPurpose set);

// The same of class counts that are this rank's.
[[nodiscard]] StatusOr<std::optional<double>> MostFrequentOf(const std::vector<double>& own,
                                                             Communicator& ranks);

// Columns of what Predict makes.
[[nodiscard]] int64_t PredictionColumns(const Session& session);
// How many nodes options.predict_nodes asks for, of all ranks.
[[nodiscard]] int64_t PredictionRows(const Session& session);
// Whether predictions are made of what Model::Embed gives, rather than Model::Forward.
[[nodiscard]] bool PredictsOfEmbed(const Session& session);
// What options.predict_what asks for, a row for each seed of the batch: float32, or int64 for
// classes. `made`: Embed's of the batch, or Forward's. Requires a task that can predict.
[[nodiscard]] torch::Tensor PredictionsOf(Session& session, const std::vector<torch::Tensor>& made,
                                          const Step& batch);
// Of the batch's seeds, list after list. Errors as RowStore::Pull.
[[nodiscard]] Status PullOriginalIds(Session& session, const Step& batch, const CancelToken* cancel,
                                     std::span<int64_t> originals);

// Takes predictions, rows one after the other as PredictionsOf has them, with original ids and the
// node types that these are of.
using TakePredictions =
    std::function<Status(std::span<const int64_t> original_ids, std::span<const int64_t> types,
                         std::span<const std::byte> rows)>;
// Predictions for the rows of `nodes`, which are nodes of the task's types: `take` gets those of
// all ranks, on rank 0. Errors as BatchFeed::Next, Communicator and `take`.
[[nodiscard]] Status Predict(Session& session, const SeedSource& nodes, const TakePredictions& take,
                             OnSignal on_signal = OnSignal::kEnd);

// What options.predict_what asks for, of every node that options.predict_nodes asks for, with
// original ids, and node types where there are several: all of them on rank 0, none on the others.
// Requires a task that can predict. A stop signal does not end it.
[[nodiscard]] StatusOr<Predictions> Predict(Session& session);

}  // namespace halograph
