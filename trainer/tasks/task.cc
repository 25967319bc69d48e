#include "trainer/tasks/task.h"

#include <stdexcept>

#include "common/base/log.h"

namespace halograph {
namespace {

torch::ScalarType ScalarTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return torch::kInt8;
    case DType::kInt64:
      return torch::kInt64;
    case DType::kFloat32:
      return torch::kFloat32;
    case DType::kFloat64:
      return torch::kFloat64;
    default:
      throw std::logic_error("labels are neither int8, int64, float32 nor float64");
  }
}

// Null: the host's are to be used.
const TaskTensors* TensorsOn(const torch::Device& device, const Step& batch) {
  if (device.is_cpu()) return nullptr;
  const auto* const there = dynamic_cast<const TaskTensors*>(batch.tensors.get());
  return there != nullptr && there->labels.defined() ? there : nullptr;
}

}  // namespace

StatusOr<PredictWhat> TrainingTask::WhatToPredict(PredictWhat what) const {
  if (what != PredictWhat::kValues) return what;
  return InvalidArgument(
      "--predict-what values is for regression; task '{}' has class, probabilities, logits and "
      "embeddings",
      name());
}

void TrainingTask::WarnOfNoValidation(std::string_view why) const {
  spdlog::warn(
      "task '{}': {}: nothing says which epoch is the best, so the last one counts as that, and "
      "--patience has nothing to go by",
      name(), why);
}

Status TrainingTask::NoLabels() const {
  return FailedPrecondition(
      "task '{}': no row of the train set has a label (-1 and NaN mean that there is none), so "
      "nothing can be learnt: look for the labels of the input, and partition it again",
      name());
}

torch::Tensor TrainingTask::Predict(PredictWhat /*what*/,
                                    const std::vector<torch::Tensor>& /*outputs*/,
                                    const Step& /*batch*/) {
  throw std::logic_error("this task predicts nothing");
}

Status TrainingTask::FindRowsInSubgraphs(const Stores& /*stores*/, bool /*by_edges*/,
                                         const CancelToken* /*cancel*/) {
  return InvalidArgument(
      "task '{}' is about edges, and subgraphs are drawn for tasks about nodes alone; give "
      "--sampler neighbor, labor, ladies or fastgcn",
      name());
}

torch::Tensor TensorOf(const LabelRows& labels) {
  std::vector<int64_t> shape = {labels.rows()};
  if (labels.dim != 1) shape.push_back(labels.dim);
  return torch::from_blob(const_cast<std::byte*>(labels.data.data()), shape,
                          ScalarTypeOf(labels.dtype));
}

torch::Tensor LabelsOf(const Step& batch, const torch::Device& device) {
  if (const TaskTensors* const there = TensorsOn(device, batch)) return there->labels;
  return TensorOf(batch.labels).to(device);
}

torch::Tensor RowWeightsOf(const Step& batch, const torch::Device& device) {
  if (const TaskTensors* const there = TensorsOn(device, batch)) return there->row_weights;
  if (batch.row_weights.empty()) return {};
  return torch::from_blob(const_cast<float*>(batch.row_weights.data()),
                          {std::ssize(batch.row_weights)}, torch::kFloat32)
      .to(device);
}

torch::Tensor PositionsOf(const Step& batch, size_t list, const torch::Device& device) {
  if (const TaskTensors* const there = TensorsOn(device, batch)) return there->positions[list];
  const std::vector<int32_t>& positions = batch.minibatch.seed_positions[list];
  return torch::from_blob(const_cast<int32_t*>(positions.data()), {std::ssize(positions)},
                          torch::kInt32)
      .to(device);
}

// By `embedding`, whose way back adds in the order of the list on every device.
torch::Tensor RowsOfSeeds(const torch::Tensor& outputs, const Step& batch, size_t list) {
  return torch::embedding(outputs, PositionsOf(batch, list, outputs.device()));
}

torch::Tensor RowsOfLists(const std::vector<torch::Tensor>& outputs, const Step& batch) {
  std::vector<torch::Tensor> lists;
  for (size_t list = 0; list < batch.seed_types.size(); ++list) {
    if (batch.minibatch.seed_positions[list].empty()) continue;
    lists.push_back(RowsOfSeeds(outputs[batch.seed_types[list]], batch, list));
  }
  return lists.size() == 1 ? lists.front() : torch::cat(lists);
}

}  // namespace halograph
