#include "trainer/tasks/node_classification.h"

#include <optional>
#include <utility>

#include "trainer/pipeline/labeled_seeds.h"
#include "trainer/tasks/task.h"

namespace halograph {
namespace {

constexpr Metric kAccuracy{.key = "acc", .label = "accuracy", .sums = 2};

std::optional<NodeSeeds> SourceOf(int node_type, LabeledSeeds set) {
  if (set.part_rows.empty() || set.part_rows.back() == 0) return std::nullopt;
  const auto labels = std::as_bytes(std::span(set.labels));
  return NodeSeeds(node_type, std::move(set.seeds), {.data = {labels.begin(), labels.end()}},
                   std::move(set.part_rows), set.first_row);
}

class NodeClassification final : public TrainingTask {
 public:
  explicit NodeClassification(ClassificationTask task)
      : name_(std::move(task.name)),
        node_type_(task.node_type),
        num_classes_(task.num_classes),
        train_(SourceOf(node_type_, std::move(task.train))),
        valid_(SourceOf(node_type_, std::move(task.valid))),
        test_(SourceOf(node_type_, std::move(task.test))) {}

  const std::string& name() const override { return name_; }
  int node_type() const override { return node_type_; }
  int64_t output_dim() const override { return num_classes_; }

  const SeedSource* source(BatchPurpose set) const override { return Find(set); }

  Json Facts() const override {
    const auto rows = [](const std::optional<NodeSeeds>& set) {
      return set.has_value() ? set->rows() : int64_t{0};
    };
    return Json{{"num_classes", num_classes_},
                {"train_rows", rows(train_)},
                {"valid_rows", rows(valid_)},
                {"test_rows", rows(test_)}};
  }

  torch::Tensor LossSum(const std::vector<torch::Tensor>& outputs,
                        const PreparedBatch& batch) override {
    return torch::nn::functional::cross_entropy(Scores(outputs, batch), LabelsOf(batch),
                                                torch::nn::functional::CrossEntropyFuncOptions()
                                                    .ignore_index(kUnlabelled)
                                                    .reduction(torch::kSum));
  }

  const Metric& metric() const override { return kAccuracy; }
  void Measure(const std::vector<torch::Tensor>& outputs, const PreparedBatch& batch,
               std::span<double> sums) override {
    const torch::Tensor labels = LabelsOf(batch);
    const torch::Tensor right = Predict(PredictWhat::kClass, outputs, batch) == labels;
    sums[0] += right.sum().item<double>();
    sums[1] += (labels != kUnlabelled).sum().item<double>();
  }
  double MetricOf(std::span<const double> sums) const override { return sums[0] / sums[1]; }

  std::vector<double> ClassCounts(BatchPurpose set) const override {
    const NodeSeeds* const rows = Find(set);
    if (rows == nullptr) return {};
    std::vector<double> counts(static_cast<size_t>(num_classes_));
    for (const int64_t label : rows->labels().As<int64_t>()) {
      if (label >= 0 && label < num_classes_) ++counts[static_cast<size_t>(label)];
    }
    return counts;
  }

  bool can_predict() const override { return true; }
  torch::Tensor Predict(PredictWhat what, const std::vector<torch::Tensor>& outputs,
                        const PreparedBatch& batch) override {
    const torch::Tensor scores = Scores(outputs, batch);
    switch (what) {
      case PredictWhat::kClass:
        return scores.argmax(1);
      case PredictWhat::kProbabilities:
        return scores.softmax(1);
      case PredictWhat::kLogits:
        return scores;
      case PredictWhat::kEmbeddings:
        break;
    }
    return TrainingTask::Predict(what, outputs, batch);
  }

 private:
  [[nodiscard]] const NodeSeeds* Find(BatchPurpose set) const {
    const auto& found = set == BatchPurpose::kTrain   ? train_
                        : set == BatchPurpose::kValid ? valid_
                                                      : test_;
    return found.has_value() ? &*found : nullptr;
  }
  [[nodiscard]] torch::Tensor Scores(const std::vector<torch::Tensor>& outputs,
                                     const PreparedBatch& batch) const {
    return RowsOfSeeds(outputs[node_type_], batch);
  }

  const std::string name_;
  const int node_type_;
  const int64_t num_classes_;
  const std::optional<NodeSeeds> train_, valid_, test_;
};

}  // namespace

StatusOr<std::unique_ptr<TrainingTask>> OpenNodeClassification(KVStore& kv, const std::string& name,
                                                               RankOfWorld who) {
  HG_ASSIGN_OR_RETURN(ClassificationTask task, ReadClassificationTask(kv, name, who));
  return std::unique_ptr<TrainingTask>(std::make_unique<NodeClassification>(std::move(task)));
}

}  // namespace halograph
