// Tasks whose rows are nodes: classification, multi-label classification and regression. What they
// have in common, and how one is opened.
//
// A row is a seed of the task's sets, of one node type or of several. The model's output for it has
// a column a class, label or value. A row without a label counts in no metric and in no loss:
// losses are means over the others. Sets may hold rows of several node types: losses and metrics
// are over all of them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/stores.h"
#include "common/base/status.h"
#include "trainer/options/task_options.h"
#include "trainer/seeds/labeled_seeds.h"
#include "trainer/seeds/seed_split.h"
#include "trainer/seeds/subgraph_seeds.h"
#include "trainer/seeds/whole_parts.h"
#include "trainer/tasks/label_facts.h"
#include "trainer/tasks/node_metrics.h"
#include "trainer/tasks/task.h"

namespace halograph {

class NodeTask : public TrainingTask {
 public:
  using Metrics = std::vector<std::unique_ptr<NodeMetric>>;  // at least one

  const std::string& name() const override { return name_; }
  std::vector<int> seed_types() const override { return node_types_; }
  int64_t output_dim() const override {
    return rule_.kind == NodeTaskKind::kClassification ? rule_.classes : rule_.columns;
  }
  const SeedSource* source(BatchPurpose set) const override;
  Json Facts() const override;
  void Resolve(TaskOptions* options) const override { options->node.kind = rule_.kind; }

  // The labelled rows. Of rows that count one over their chance to be in the subgraph, all those of
  // the train set that can be: their losses' sum stands for that of all.
  double LossWeight(const Step& batch) const override {
    return batch.weighs_rows ? weight_of_all_ : WeightOf(batch.labels);
  }
  bool weighs_rows() const override {
    return found_.has_value() || labels_.front().labelled < labels_.front().rows;
  }

  const Metric& metric() const override { return metric_; }
  BatchLoss Loss(const std::vector<torch::Tensor>& outputs, const Step& batch) override;
  void Measure(const std::vector<torch::Tensor>& scores, const Step& batch,
               std::span<double> sums) const override;
  double MetricOf(std::span<const double> sums) const override;
  std::vector<MetricValue> MoreMetrics(std::span<const double> sums) const override;

  Status CheckRows(const Stores& stores, Communicator& ranks, std::span<const int> learnt,
                   const CancelToken* cancel) override;

  bool can_predict() const override { return true; }
  Status FindRowsInSubgraphs(const Stores& stores, bool by_edges,
                             const CancelToken* cancel) override;

  // From now on every step of a set has these nodes as seeds too (WholePartSeeds).
  void AddWholeParts(std::vector<NodesOfType> nodes);

 protected:
  NodeTask(NodeTaskRows rows, Metrics metrics);

  [[nodiscard]] const NodeSeeds* Find(BatchPurpose set) const;
  // What the model gives for the batch's seeds, in the order of its labels, float32
  // [rows, output_dim()].
  [[nodiscard]] torch::Tensor Scores(const std::vector<torch::Tensor>& outputs,
                                     const Step& batch) const;
  // The labels of the batch's rows: [rows, columns] unless they are classes, which are [rows].
  [[nodiscard]] torch::Tensor Labels(const Step& batch,
                                     const torch::Device& device = torch::kCPU) const;
  // How much rows with these labels weigh.
  [[nodiscard]] virtual double WeightOf(const LabelRows& labels) const {
    return static_cast<double>(CountLabelled(labels, rule_.kind));
  }
  // The loss of the rows that have a label, each times its weight, or where `weights` is not
  // defined alike, summed; out of Scores, Labels and RowWeightsOf on one device. Waits for nothing
  // there.
  [[nodiscard]] virtual torch::Tensor SumOfLosses(const torch::Tensor& scores,
                                                  const torch::Tensor& labels,
                                                  const torch::Tensor& weights) = 0;
  // Which rows have a label, bool [rows]. `labels`: as Labels has them.
  [[nodiscard]] virtual torch::Tensor Labelled(const torch::Tensor& labels) const = 0;

 private:
  const std::string name_;
  const std::vector<int> node_types_;
  const LabelRule rule_;
  TaskLabels labels_;  // this rank's; from CheckRows on those of all ranks
  const std::optional<NodeSeeds> train_, valid_, test_;
  std::map<BatchPurpose, WholePartSeeds> whole_;  // of the sets, in their place; or empty
  std::optional<SubgraphSeeds> found_;            // in the place of train_, or none
  double weight_of_all_ = 0;                      // of its rows
  const Metrics metrics_;
  const Metric metric_;  // the first one, with the sums of all
};

// Opens a task about nodes as the kind that it is (KindOf).
//   InvalidArgument  a metric or class weights that the kind does not have; class weights that are
//                    not as many as classes; as ReadNodeTask
//   else             as ReadNodeTask
[[nodiscard]] StatusOr<std::unique_ptr<TrainingTask>> OpenNodeTask(const Stores& stores,
                                                                   const TaskOptions& options,
                                                                   const std::string& name,
                                                                   RankOfWorld who);

// The kinds. `class_weights`: one a class, or none at all.
[[nodiscard]] std::unique_ptr<NodeTask> MakeClassification(
    NodeTaskRows rows, NodeTask::Metrics metrics, const std::vector<double>& class_weights);
[[nodiscard]] std::unique_ptr<NodeTask> MakeMultiLabel(NodeTaskRows rows,
                                                       NodeTask::Metrics metrics);
[[nodiscard]] std::unique_ptr<NodeTask> MakeRegression(NodeTaskRows rows,
                                                       NodeTask::Metrics metrics);

}  // namespace halograph
