// Values for a node, one or several. Loss: squared error, the mean over the values of a row. A row
// with a NaN among its values has no label.
#include <utility>

#include "trainer/tasks/node_task.h"

namespace halograph {
namespace {

class Regression final : public NodeTask {
 public:
  Regression(NodeTaskRows rows, Metrics metrics) : NodeTask(std::move(rows), std::move(metrics)) {}

  torch::Tensor LossSum(const std::vector<torch::Tensor>& outputs, const Step& batch) override {
    const torch::Tensor labels = Labels(batch);
    const torch::Tensor rows = Labelled(labels).nonzero().view(-1);
    const torch::Tensor errors =
        Scores(outputs, batch).index_select(0, rows) - labels.index_select(0, rows);
    return errors.square().sum() / static_cast<double>(output_dim());
  }

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
  torch::Tensor Labelled(const torch::Tensor& labels) const override {
    return labels.isnan().any(1).logical_not();
  }
};

}  // namespace

std::unique_ptr<NodeTask> MakeRegression(NodeTaskRows rows, NodeTask::Metrics metrics) {
  return std::make_unique<Regression>(std::move(rows), std::move(metrics));
}

}  // namespace halograph
