// One class for a node. Loss: cross entropy, each row's times the weight of its class.
#include <utility>

#include "trainer/tasks/node_task.h"

namespace halograph {
namespace {

class NodeClassification final : public NodeTask {
 public:
  NodeClassification(NodeTaskRows rows, Metrics metrics, const std::vector<double>& class_weights)
      : NodeTask(std::move(rows), std::move(metrics)) {
    if (!class_weights.empty()) weights_ = torch::tensor(class_weights, torch::kFloat32);
    weights_there_ = weights_;
  }

  bool weighs_rows() const override { return weights_.defined() || NodeTask::weighs_rows(); }

  std::vector<double> ClassCounts(BatchPurpose set) const override {
    const bool of_rows_right = metric().key == "acc" || metric().key == "micro_f1";
    if (!of_rows_right) return {};
    std::vector<double> counts(static_cast<size_t>(output_dim()));
    const NodeSeeds* const rows = Find(set);
    if (rows == nullptr) return counts;
    for (const int64_t label : rows->labels().As<int64_t>()) {
      if (label != kUnlabelled) ++counts[static_cast<size_t>(label)];
    }
    return counts;
  }

  torch::Tensor Predict(PredictWhat what, const std::vector<torch::Tensor>& outputs,
                        const Step& batch) override {
    const torch::Tensor scores = Scores(outputs, batch);
    if (what == PredictWhat::kClass) return scores.argmax(1);
    if (what == PredictWhat::kProbabilities) return scores.softmax(1);
    if (what == PredictWhat::kLogits) return scores;
    return TrainingTask::Predict(what, outputs, batch);
  }

 protected:
  double WeightOf(const LabelRows& rows) const override {
    if (!weights_.defined()) return NodeTask::WeightOf(rows);
    const torch::Tensor labels = TensorOf(rows);
    return weights_.index_select(0, labels.masked_select(Labelled(labels)))
        .sum(torch::kFloat64)
        .item<double>();
  }
  torch::Tensor SumOfLosses(const torch::Tensor& scores, const torch::Tensor& labels,
                            const torch::Tensor& weights) override {
    if (weights_.defined() && weights_there_.device() != scores.device()) {
      weights_there_ = weights_.to(scores.device());
    }
    auto options = torch::nn::functional::CrossEntropyFuncOptions()
                       .weight(weights_there_)
                       .ignore_index(kUnlabelled)
                       .reduction(torch::kSum);
    if (!weights.defined()) return torch::nn::functional::cross_entropy(scores, labels, options);
    return torch::dot(
        torch::nn::functional::cross_entropy(scores, labels, options.reduction(torch::kNone)),
        weights);
  }
  torch::Tensor Labelled(const torch::Tensor& labels) const override {
    return labels.ne(kUnlabelled);
  }

 private:
  torch::Tensor weights_;        // float32 [classes]; not defined: none
  torch::Tensor weights_there_;  // where the scores were that came last
};

}  // namespace

std::unique_ptr<NodeTask> MakeClassification(NodeTaskRows rows, NodeTask::Metrics metrics,
                                             const std::vector<double>& class_weights) {
  return std::make_unique<NodeClassification>(std::move(rows), std::move(metrics), class_weights);
}

}  // namespace halograph
