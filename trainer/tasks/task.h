// What is learnt: which rows are trained on, what the model's outputs mean, how wrong they are
// (loss) and how good (metric). A task is one file here, registered by a line in registry.cc.
//
// How kinds of tasks fit:
//   node classification, multi-label, regression   a row is a node (NodeSeeds); labels are a class,
//                     several, or values: LabelRows carries any dtype and number of columns. What
//                     the three have in common is in node_task.h
//   link prediction   a row is an edge. Its SeedSource (EdgeSeeds) gives both ends and the ends of
//                     negatives, drawn by the key that it gets, as seeds, and leaves the edges
//                     themselves out of what is sampled; Loss finds their rows by
//                     Minibatch::seed_positions, in the order of the seeds. A decoder with weights
//                     of its own hands them out by parameters()
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/graph_store.h"
#include "client/stores.h"
#include "common/base/status.h"
#include "common/sampling/request.h"
#include "common/storage/json.h"
#include "trainer/distributed/communicator.h"
#include "trainer/options/task_options.h"
#include "trainer/output/prediction_file.h"
#include "trainer/pipeline/batch_maker.h"
#include "trainer/seeds/seed_source.h"
#include "trainer/torch/torch_api.h"

namespace halograph {

// A share or mean over rows that is made of sums, which add up over steps and ranks.
struct Metric {
  std::string_view key;    // in the log, after valid_ and test_: "acc"; lives as long as the task
  std::string_view label;  // for people: "accuracy"
  size_t sums = 2;         // how many doubles Measure adds to
  bool higher_is_better = true;
  bool share = true;  // from 0 to 1; else in units of its own
  // Whether that of minibatches as they are trained on means what that of a set does.
  bool comparable = true;
};

struct MetricValue {
  std::string_view key;  // as Metric's
  double value = 0;      // NaN where no row tells
};

// An evaluation that holds the rows of a set against all nodes of some types (link_ranking.h), or,
// without types, against each other (link_hits.h).
// Evaluation calls AddRows with each minibatch of this rank's rows, in the place of Measure; then
// Meet; then AddNodes with minibatches of this rank's nodes of each type, ascending; then Finish.
// Not thread-safe. All ranks meet in Meet and Finish.
class NodeSweep {
 public:
  virtual ~NodeSweep() = default;
  virtual void AddRows(const std::vector<torch::Tensor>& outputs, const Step& batch) = 0;
  // Errors as Communicator.
  [[nodiscard]] virtual Status Meet(Communicator& ranks) = 0;
  // The same on all ranks. Requires Meet.
  [[nodiscard]] virtual std::vector<int> node_types() const = 0;
  virtual void AddNodes(int type, const std::vector<torch::Tensor>& outputs, const Step& batch) = 0;
  // Adds what this rank's rows contribute to the sums of the task's metric. Errors as Communicator.
  [[nodiscard]] virtual Status Finish(Communicator& ranks, std::span<double> sums) = 0;
};

// What a task reads of a step, where the model's outputs are if that is not the host: copies of the
// labels (LabelsOf), of the rows' weights and of each of the minibatch's seed_positions.
struct TaskTensors : StepTensors {
  torch::Tensor labels;
  torch::Tensor row_weights;  // not defined: all alike
  std::vector<torch::Tensor> positions;
};

// Of a batch, where its outputs are.
struct BatchLoss {
  torch::Tensor sum;  // over its rows: a scalar, differentiable
  // What its metrics are made of, not differentiable: Measure's, once it is in the host's memory.
  std::vector<torch::Tensor> scores;
};

// Not thread-safe; what source() returns is.
class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  [[nodiscard]] virtual const std::string& name() const = 0;  // the graph's
  // The node types that its rows are of: of an edge, both ends'. Ascending; in all sets together.
  [[nodiscard]] virtual std::vector<int> seed_types() const = 0;
  // The node types of what is predicted, one at least.
  [[nodiscard]] virtual std::vector<int> predicted_types() const { return seed_types(); }
  // The rows of a set: kTrain, kValid or kTest. Null where the task has no such set; never of
  // kTrain. Lives as long as the task.
  [[nodiscard]] virtual const SeedSource* source(BatchPurpose set) const = 0;
  // Columns that the model's outputs must have.
  [[nodiscard]] virtual int64_t output_dim() const = 0;
  // Weights of its own, trained beside the model's. Made by the constructor from libtorch's default
  // generator.
  [[nodiscard]] virtual std::vector<torch::Tensor> parameters() const { return {}; }
  // Moves them: the tensors stay the same ones. Loss takes outputs of any device all the same.
  virtual void MoveTo(const torch::Device& /*device*/) {}
  // What the log's first line should tell: numbers of classes and rows.
  [[nodiscard]] virtual Json Facts() const = 0;
  // Says in `options` what the task chose where they left it to the data.
  virtual void Resolve(TaskOptions* /*options*/) const {}

  // `outputs`: Model::Forward's of the batch, on any device: in training it waits for nothing of
  // theirs. The batch has rows. What is trained for and logged is the loss summed over ranks,
  // divided by the sum of LossWeight.
  [[nodiscard]] virtual BatchLoss Loss(const std::vector<torch::Tensor>& outputs,
                                       const Step& batch) = 0;
  // How much the batch's rows weigh. Asked of batches that count (Step::counts).
  [[nodiscard]] virtual double LossWeight(const Step& batch) const {
    return static_cast<double>(batch.rows);
  }
  // Whether that may be another number than that of the rows: ranks then add it up in every step.
  // Of training with several ranks it is known, and the same on all, from CheckRows on.
  [[nodiscard]] virtual bool weighs_rows() const { return false; }
  // The metric that says which epoch is best. Its `sums` are those of all metrics of the task.
  [[nodiscard]] virtual const Metric& metric() const = 0;
  // Adds what the batch's rows contribute to `sums`, metric().sums of them. `scores`: of its Loss,
  // in the host's memory. Of `batch` it reads rows and labels alone: the rest may be gone.
  virtual void Measure(const std::vector<torch::Tensor>& scores, const Step& batch,
                       std::span<double> sums) const = 0;
  // The metric out of sums over all rows and ranks; NaN where no row has a label.
  [[nodiscard]] virtual double MetricOf(std::span<const double> sums) const = 0;
  // Further metrics out of the same sums, which are logged beside it: the same keys each time.
  [[nodiscard]] virtual std::vector<MetricValue> MoreMetrics(
      std::span<const double> /*sums*/) const {
    return {};
  }
  // Where the metric of a set is one of a sweep: a new one. Null where Measure makes it.
  [[nodiscard]] virtual std::unique_ptr<NodeSweep> StartSweep(BatchPurpose /*set*/) {
    return nullptr;
  }
  // Whether the graph that neighbours are drawn of gives nothing away of what is to be predicted,
  // as far as the rows of all ranks tell. Asked once of all ranks together, before training, where
  // the model reads neighbours.
  //   FailedPrecondition  it does: what, and what to do
  //   else                as GraphStore::Sample and Communicator
  [[nodiscard]] virtual Status CheckGraph(GraphStore& /*graph*/, Communicator& /*ranks*/,
                                          const CancelToken* /*cancel*/) const {
    return OkStatus();
  }

  // Looks at the rows of all ranks together, and takes from them what LossWeight and weighs_rows go
  // by. Asked once of all ranks together, before training. Rank 0 warns of what is probably not
  // meant. `learnt`: the node types whose input rows are learnt, ascending.
  //   FailedPrecondition  no row of the train set has a label
  //   else                as TaskSets::Read and Communicator
  [[nodiscard]] virtual Status CheckRows(const Stores& /*stores*/, Communicator& /*ranks*/,
                                         std::span<const int> /*learnt*/,
                                         const CancelToken* /*cancel*/) {
    return OkStatus();
  }

  // Warns that no epoch is known to be the best. `why`: "its validation set is empty".
  void WarnOfNoValidation(std::string_view why) const;
  // The error of a train set of which no row has a label, in any part.
  [[nodiscard]] Status NoLabels() const;

  // How many of this rank's rows of a set are of each class: one count for each output, also of a
  // set that is not there. Empty where rows have no class, and where the metric is no share of rows
  // classified correctly: then it is so on all ranks.
  [[nodiscard]] virtual std::vector<double> ClassCounts(BatchPurpose /*set*/) const { return {}; }

  // Whether the model's outputs are the embeddings of nodes, and the only thing to be predicted of
  // them. Else embeddings are what the model says (Model::Embed), and Predict has the rest.
  [[nodiscard]] virtual bool predicts_outputs() const { return false; }
  // From now on training steps are about the rows that a drawn subgraph has. `stores`: its own, of
  // a graph with one relation. `by_edges`: nodes without edges are in no subgraph.
  //   InvalidArgument     the task's rows are no nodes of one type
  //   FailedPrecondition  no row of the train set is in any subgraph
  //   else                as TaskSets::Read and GraphStore::Ask
  [[nodiscard]] virtual Status FindRowsInSubgraphs(const Stores& stores, bool by_edges,
                                                   const CancelToken* cancel);

  // Whether Predict works: asked before training.
  [[nodiscard]] virtual bool can_predict() const { return false; }
  // What is predicted where the user asks for `what`: kClass, which users do not name, may be
  // something else here. InvalidArgument: the task has no such thing; what it has is named.
  [[nodiscard]] virtual StatusOr<PredictWhat> WhatToPredict(PredictWhat what) const;
  // Columns of what Predict gives: 1 of kClass, unless a row has several labels.
  [[nodiscard]] virtual int64_t PredictionColumns(PredictWhat what) const {
    return what == PredictWhat::kClass ? 1 : output_dim();
  }
  // What is written for each of the batch's seeds, list after list. Requires can_predict() and
  // a `what` that WhatToPredict gives, but for kEmbeddings, which are the model's.
  //   kClass                            [seeds, columns] of int64; [seeds] of one column
  //   kProbabilities, kLogits, kValues  [seeds, columns] of float32
  [[nodiscard]] virtual torch::Tensor Predict(PredictWhat what,
                                              const std::vector<torch::Tensor>& outputs,
                                              const Step& batch);
};

// The labels of a batch as a tensor, [rows], or [rows, dim] of several columns. Of the host without
// a copy: it lives with the batch. On another device it is TaskTensors', or where the batch has
// none a new copy.
[[nodiscard]] torch::Tensor LabelsOf(const Step& batch, const torch::Device& device = torch::kCPU);
// The same of labels alone, of the host.
[[nodiscard]] torch::Tensor TensorOf(const LabelRows& labels);
// What each row's loss counts, float32 [rows]; not defined: all count alike.
[[nodiscard]] torch::Tensor RowWeightsOf(const Step& batch, const torch::Device& device);
// The batch's seed_positions of a list, int32, likewise.
[[nodiscard]] torch::Tensor PositionsOf(const Step& batch, size_t list,
                                        const torch::Device& device = torch::kCPU);
// The outputs of each listed seed, in the order listed. `list`: which of the batch's seed lists.
// `outputs`: of the node type of that list.
[[nodiscard]] torch::Tensor RowsOfSeeds(const torch::Tensor& outputs, const Step& batch,
                                        size_t list = 0);
// The same of all lists that ask for some, one after the other. `outputs`: by node type. Requires
// a batch that has seeds.
[[nodiscard]] torch::Tensor RowsOfLists(const std::vector<torch::Tensor>& outputs,
                                        const Step& batch);

}  // namespace halograph
