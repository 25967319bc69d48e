// Several labels for a node, each 0 or 1. Loss: binary cross entropy of the logits, the mean over
// the labels of a row that are known; 0 of a row without any.
#include <utility>

#include "trainer/tasks/node_task.h"

namespace halograph {
namespace {

class MultiLabel final : public NodeTask {
 public:
  MultiLabel(NodeTaskRows rows, Metrics metrics) : NodeTask(std::move(rows), std::move(metrics)) {}

  int64_t PredictionColumns(PredictWhat /*what*/) const override { return output_dim(); }
  torch::Tensor Predict(PredictWhat what, const std::vector<torch::Tensor>& outputs,
                        const Step& batch) override {
    const torch::Tensor scores = Scores(outputs, batch);
    if (what == PredictWhat::kClass) return scores.gt(0).to(torch::kInt64);
    if (what == PredictWhat::kProbabilities) return scores.sigmoid();
    if (what == PredictWhat::kLogits) return scores;
    return TrainingTask::Predict(what, outputs, batch);
  }

 protected:
  torch::Tensor SumOfLosses(const torch::Tensor& scores, const torch::Tensor& labels,
                            const torch::Tensor& weights) override {
    const torch::Tensor known = labels.ne(kUnlabelled).to(torch::kFloat32);
    // What is not known weighs nothing, whatever stands there.
    torch::Tensor share = known / known.sum(1, true).clamp_min(1);
    if (weights.defined()) share = share * weights.unsqueeze(1);
    return torch::nn::functional::binary_cross_entropy_with_logits(
        scores, labels.clamp_min(0).to(torch::kFloat32),
        torch::nn::functional::BinaryCrossEntropyWithLogitsFuncOptions().weight(share).reduction(
            torch::kSum));
  }
  torch::Tensor Labelled(const torch::Tensor& labels) const override {
    return labels.ne(kUnlabelled).any(1);
  }
};

}  // namespace

std::unique_ptr<NodeTask> MakeMultiLabel(NodeTaskRows rows, NodeTask::Metrics metrics) {
  return std::make_unique<MultiLabel>(std::move(rows), std::move(metrics));
}

}  // namespace halograph
