// What is learnt: which rows are trained on, what the model's outputs mean, how wrong they are
// (loss) and how good (metric). A task is one file here, registered by a line in registry.cc.
//
// How kinds of tasks fit:
//   node classification, multi-label, regression   a row is a node (NodeSeeds); labels are a class,
//                     several, or values: LabelRows carries any dtype and number of columns
//   link prediction   a row is an edge. Its SeedSource gives both ends and the ends of negatives,
//                     drawn by the key that it gets, as seeds, and leaves the edges themselves out
//                     of what is sampled; LossSum finds their rows by Minibatch::seed_positions, in
//                     the order of the seeds. A decoder with weights of its own hands them out by
//                     parameters()
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/sampling/request.h"
#include "common/storage/json.h"
#include "trainer/output/prediction_file.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/pipeline/seed_source.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// A share or mean over rows that is made of sums, which add up over steps and ranks.
struct Metric {
  std::string_view key;    // in the log, after valid_ and test_: "acc"
  std::string_view label;  // for people: "accuracy"
  size_t sums = 2;         // how many doubles Measure adds to
  bool higher_is_better = true;
};

// Not thread-safe; what source() returns is.
class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  [[nodiscard]] virtual const std::string& name() const = 0;  // the graph's
  // The node type of what Predict is asked for.
  [[nodiscard]] virtual int node_type() const = 0;
  // The rows of a set: kTrain, kValid or kTest. Null where the task has no such set; never of
  // kTrain. Lives as long as the task.
  [[nodiscard]] virtual const SeedSource* source(BatchPurpose set) const = 0;
  // Columns that the model's outputs must have.
  [[nodiscard]] virtual int64_t output_dim() const = 0;
  // Weights of its own, trained beside the model's. Made by the constructor from libtorch's default
  // generator.
  [[nodiscard]] virtual std::vector<torch::Tensor> parameters() const { return {}; }
  // What the log's first line should tell: numbers of classes and rows.
  [[nodiscard]] virtual Json Facts() const = 0;

  // `outputs`: Model::Forward's of the batch. The batch has rows.
  // The loss summed over the batch's rows: a scalar, differentiable.
  [[nodiscard]] virtual torch::Tensor LossSum(const std::vector<torch::Tensor>& outputs,
                                              const PreparedBatch& batch) = 0;
  [[nodiscard]] virtual const Metric& metric() const = 0;
  // Adds what the batch's rows contribute to `sums`, metric().sums of them.
  virtual void Measure(const std::vector<torch::Tensor>& outputs, const PreparedBatch& batch,
                       std::span<double> sums) = 0;
  // The metric out of sums over all rows and ranks; NaN where no row has a label.
  [[nodiscard]] virtual double MetricOf(std::span<const double> sums) const = 0;

  // How many of this rank's rows of a set are of each class. Empty where rows have no class, and of
  // sets that are not there: then it is so on all ranks.
  [[nodiscard]] virtual std::vector<double> ClassCounts(BatchPurpose /*set*/) const { return {}; }

  // Whether Predict works: asked before training.
  [[nodiscard]] virtual bool can_predict() const { return false; }
  // What is written for each of the batch's seeds, nodes of node_type(). Requires can_predict() and
  // another `what` than kEmbeddings, which are the model's.
  //   kClass                   [seeds] of int64
  //   kProbabilities, kLogits  [seeds, output_dim()] of float32
  [[nodiscard]] virtual torch::Tensor Predict(PredictWhat what,
                                              const std::vector<torch::Tensor>& outputs,
                                              const PreparedBatch& batch);
};

// The labels of a batch as a tensor, without a copy: lives with the batch. [rows], or [rows, dim]
// of several columns.
[[nodiscard]] torch::Tensor LabelsOf(const PreparedBatch& batch);
// The outputs of each listed seed, in the order listed. `list`: which of the batch's seed lists.
// `outputs`: of the node type of that list.
[[nodiscard]] torch::Tensor RowsOfSeeds(const torch::Tensor& outputs, const PreparedBatch& batch,
                                        size_t list = 0);

}  // namespace halograph
