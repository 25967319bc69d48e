// Values for a node, one or several. Loss: squared error, the mean over the values of a row. A row
// with a NaN among its values has no label.
#include <utility>

#include "trainer/tasks/node_task.h"

namespace halograph {
namespace {

class Regression final : public NodeTask {
 public:
  Regression(NodeTaskRows rows, Metrics metrics) : NodeTask(std::move(rows), std::move(metrics)) {}

  // Values are what stands for classes.
  StatusOr<PredictWhat> WhatToPredict(PredictWhat what) const override {
    if (what == PredictWhat::kClass) what = PredictWhat::kValues;
    if (what == PredictWhat::kProbabilities || what == PredictWhat::kLogits) {
      return InvalidArgument(
          "--predict-what {}: task '{}' is regression, which has values and embeddings",
          what == PredictWhat::kLogits ? "logits" : "probabilities", name());
    }
    return what;
  }
  torch::Tensor Predict(PredictWhat what, const std::vector<torch::Tensor>& outputs,
                        const Step& batch) override {
    if (what == PredictWhat::kValues) return Scores(outputs, batch);
    return TrainingTask::Predict(what, outputs, batch);
  }

 protected:
  torch::Tensor SumOfLosses(const torch::Tensor& scores, const torch::Tensor& labels,
                            const torch::Tensor& weights) override {
    const torch::Tensor unlabelled = Labelled(labels).logical_not().unsqueeze(1);
    torch::Tensor errors = (scores - labels).masked_fill(unlabelled, 0).square();
    if (weights.defined()) errors = errors * weights.unsqueeze(1);
    return errors.sum() / static_cast<double>(output_dim());
  }
  torch::Tensor Labelled(const torch::Tensor& labels) const override {
    return labels.isnan().any(1).logical_not();
  }
};

}  // namespace

std::unique_ptr<NodeTask> MakeRegression(NodeTaskRows rows, NodeTask::Metrics metrics) {
  return std::make_unique<Regression>(std::move(rows), std::move(metrics));
}

}  // namespace halograph
